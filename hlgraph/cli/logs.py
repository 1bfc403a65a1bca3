"""What is logged while a command runs: warnings of hlgraph, errors of what reads files, nothing of what drives servers."""

from __future__ import annotations

import logging
import logging.config

from hlgraph.cli.output import note

# They warn of every oddity in a file that they read all the same; a file that they cannot read is reported as failed.
CHATTY = ("htmldate", "justext", "pypdf", "trafilatura")

# Drivers of servers log what they also raise, and each attempt before it: hlgraph says it once, with the mend.
DRIVERS = ("neo4j", "opensearch")


class _Lines(logging.Handler):
    """Writes to what standard error is at that moment: a live line of progress stands aside."""

    def emit(self, record: logging.LogRecord) -> None:
        note(f"hlgraph: warning: {record.getMessage()}")


def set_up_warnings() -> None:
    """Send the warnings of hlgraph to standard error."""
    loggers: dict[str, object] = {name: {"level": "ERROR"} for name in CHATTY}
    loggers |= {name: {"level": "CRITICAL"} for name in DRIVERS}
    loggers["hlgraph"] = {"handlers": ["lines"]}
    handlers = {"lines": {"()": _Lines, "level": "WARNING"}}
    logging.config.dictConfig(
        {"version": 1, "disable_existing_loggers": False, "handlers": handlers, "loggers": loggers}
    )
