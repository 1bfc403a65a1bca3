"""The global options: the settings, telemetry and warnings of one run of the command line."""

from __future__ import annotations

import contextlib
import logging
import logging.config
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hlgraph.cli.output import note
from hlgraph.errors import MissingExtraError, SettingsError
from hlgraph.telemetry import CorrelationFilter

if TYPE_CHECKING:
    from hlgraph.settings import Settings


@dataclass(frozen=True, slots=True)
class State:
    """The global options of one run."""

    store: str | None
    vectors: str | None
    config: str | None
    prompts: str | None = None
    trace: str | None = None
    correlation_id: str | None = None
    command: str = ""
    observed: ExitStack = field(default_factory=ExitStack, compare=False)

    def settings(self, corpus: str | None = None, *, wait: float | None = None) -> Settings:
        """The settings from file and environment, overridden by the options."""
        from hlgraph.settings import at_store, load

        # Here, because every command calls this, and --help does not.
        set_up_warnings(is_marked=self.correlation_id is not None)
        settings = load(self.config)
        if self.store is not None:
            settings = at_store(settings, self.store)
        if self.vectors is not None:
            settings = replace(settings, vectors=self.vectors)
        if wait is not None:
            settings = replace(settings, wait=wait)
        if self.prompts is not None:
            settings = replace(settings, models=replace(settings.models, prompts=self.prompts))
        settings = settings if corpus is None else replace(settings, corpus=corpus)
        self._observe(settings)
        return settings

    def _observe(self, settings: Settings) -> None:
        """Send spans, and give every log record of the command one id, from here to its end."""
        from hlgraph import telemetry
        from hlgraph.models.prompts import prompts_of

        if telemetry.correlation_id():
            return  # a command may ask for its settings twice
        self.observed.enter_context(prompts_of(settings.models.prompts))
        options = settings.telemetry if self.trace is None else replace(settings.telemetry, exporter=self.trace)
        self.observed.enter_context(exporting(options.exporter))
        if self.correlation_id is not None:
            self.observed.enter_context(telemetry.correlated(self.correlation_id))
        content, slow = options.content, options.slow_query_seconds
        self.observed.enter_context(telemetry.operation(self.command, content=content, slow_query_seconds=slow))


EXPORTERS = ("console", "otlp")


@contextlib.contextmanager
def exporting(exporter: str) -> Iterator[None]:
    """Export the spans and metrics of a block; flush them when it ends.

    Parameters
    ----------
    exporter : ``console`` or ``otlp``; empty: nothing is sent

    Raises
    ------
    SettingsError
        There is no such exporter.
    MissingExtraError
        The extra ``otel`` is not installed.
    """
    if not exporter:
        yield
        return
    if exporter not in EXPORTERS:
        raise SettingsError(f"there is no exporter {exporter!r}; choose {' or '.join(EXPORTERS)}")
    providers = _providers(exporter)
    try:
        yield
    finally:
        for provider in providers:
            provider.shutdown()


def _providers(exporter: str) -> tuple[Any, Any]:
    """A provider of spans and one of metrics, set for the whole process."""
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

        if exporter == "otlp":
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise MissingExtraError("otel", "sending spans and metrics") from error
    from hlgraph import __version__

    # Resource.create reads the OTEL_ variables; a service name from there wins.
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "hlgraph"}))
    spans = TracerProvider(resource=resource)
    processor: Any
    if exporter == "console":
        processor = SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr))
        reader = PeriodicExportingMetricReader(ConsoleMetricExporter(out=sys.stderr))
    else:
        processor = BatchSpanProcessor(OTLPSpanExporter())
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    spans.add_span_processor(processor)
    measures = MeterProvider(metric_readers=[reader], resource=resource)
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(measures)
    return spans, measures


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
