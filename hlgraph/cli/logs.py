"""Logging while a command runs: warnings of hlgraph, errors of file parsers, nothing from server drivers."""

from __future__ import annotations

import logging
import logging.config

from hlgraph.cli.output import note
from hlgraph.telemetry import CorrelationFilter

# Parsers that warn of every oddity in a file they can read; a file that they cannot read is reported as failed.
CHATTY = ("htmldate", "justext", "pypdf", "trafilatura")

# Server drivers log the errors that they also raise, and each retry; hlgraph reports the error once, with the remedy.
DRIVERS = ("neo4j", "opensearch")


class _Lines(logging.Handler):
    """Writes to the current standard error, so that a live progress line is not overwritten."""

    def __init__(self, *, is_marked: bool) -> None:
        super().__init__()
        self.is_marked = is_marked

    def emit(self, record: logging.LogRecord) -> None:
        mark = f" [{getattr(record, 'correlation_id', '')}]" if self.is_marked else ""
        note(f"hlgraph: warning:{mark} {record.getMessage()}")


def set_up_warnings(*, is_marked: bool = False) -> None:
    """Send the warnings of hlgraph to standard error.

    Parameters
    ----------
    is_marked : begin each with the correlation id of its call
    """
    loggers: dict[str, object] = {name: {"level": "ERROR"} for name in CHATTY}
    loggers |= {name: {"level": "CRITICAL"} for name in DRIVERS}
    loggers["hlgraph"] = {"handlers": ["lines"]}
    handlers = {"lines": {"()": _Lines, "level": "WARNING", "filters": ["correlation"], "is_marked": is_marked}}
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"correlation": {"()": CorrelationFilter}},
            "handlers": handlers,
            "loggers": loggers,
        }
    )
