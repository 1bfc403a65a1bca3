"""The global options, options shared by commands, and opening the SDK from them."""

from __future__ import annotations

import contextlib
import logging
import logging.config
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hlgraph.cli.output import note
from hlgraph.errors import MissingExtraError, SettingsError
from hlgraph.telemetry import CorrelationFilter

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress on standard error.")]
Corpus = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The corpus (also HLGRAPH_CORPUS; default: default).", show_default=False),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="EXPR",
        help="Only sources whose metadata match this filter: field = value, !=, <, <=, >, >=, in (...), exists field, "
        "and, or, not.",
        show_default=False,
    ),
]

Wait = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Maximum time to wait while another process writes; 0: do not wait (default: the setting wait, otherwise no limit).",
        show_default=False,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        help="Spend at most N tokens on the chat model, then stop with exit code 6.",
        show_default=False,
    ),
]
MaxUsd = Annotated[
    float | None,
    typer.Option(
        "--max-usd",
        metavar="X",
        help="Spend at most X US dollars on the chat model, then stop with exit code 6.",
        show_default=False,
    ),
]


def budget_of(max_tokens: int | None, max_usd: float | None) -> Budget | None:
    """The budget that --max-tokens and --max-usd set; None without them."""
    from hlgraph.models.accounts.budget import Budget

    return None if max_tokens is None and max_usd is None else Budget(max_tokens=max_tokens, max_usd=max_usd)


@dataclass(frozen=True, slots=True)
class State:
    """The global options of one run."""

    store: str | None
    vectors: str | None
    config: str | None
    trace: str | None = None
    correlation_id: str | None = None
    command: str = ""
    observed: ExitStack = field(default_factory=ExitStack, compare=False)

    def settings(self, corpus: str | None = None, *, wait: float | None = None) -> Settings:
        """The settings from file and environment, overridden by the options."""
        from hlgraph.settings import at_store, load

        set_up_warnings(
            is_marked=self.correlation_id is not None
        )  # here, because every command calls this, and --help does not
        settings = load(self.config)
        if self.store is not None:
            settings = at_store(settings, self.store)
        if self.vectors is not None:
            settings = replace(settings, vectors=self.vectors)
        if wait is not None:
            settings = replace(settings, wait=wait)
        settings = settings if corpus is None else replace(settings, corpus=corpus)
        self._observe(settings)
        return settings

    def _observe(self, settings: Settings) -> None:
        """Send spans, and give every log record of the command one id, from here to its end."""
        from hlgraph import telemetry

        if telemetry.correlation_id():
            return  # a command may ask for its settings twice
        telemetry_settings = (
            settings.telemetry if self.trace is None else replace(settings.telemetry, exporter=self.trace)
        )
        self.observed.enter_context(exporting(telemetry_settings.exporter))
        if self.correlation_id is not None:
            self.observed.enter_context(telemetry.correlated(self.correlation_id))
        self.observed.enter_context(telemetry.operation(self.command, telemetry_settings))

    def open(self, corpus: str | None = None, *, wait: float | None = None) -> HLGraph:
        """The SDK, connected to the store of the options."""
        from hlgraph.sdk.client import connect

        return connect(self.settings(corpus, wait=wait))


def show_help(context: typer.Context) -> None:
    """Print the help, which lists the subcommands, and exit with code 2 if no subcommand was given."""
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(2)


# Sends spans and metrics of one command to the console or a collector: configures the OpenTelemetry SDK.


EXPORTERS = ("console", "otlp")


@contextlib.contextmanager
def exporting(exporter: str) -> Iterator[None]:
    """Exports the spans and metrics of a block; flushes them when the block ends.

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
    except ImportError as error:
        raise MissingExtraError("otel", "sending spans and metrics") from error
    from hlgraph import __version__

    # What the OTEL_ variables say of the resource comes with it, and a name of the service from there wins.
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "hlgraph"}))
    spans = TracerProvider(resource=resource)
    if exporter == "console":
        spans.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        reader = PeriodicExportingMetricReader(ConsoleMetricExporter(out=sys.stderr))
    else:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError as error:
            raise MissingExtraError("otel", "sending spans and metrics") from error
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    measures = MeterProvider(metric_readers=[reader], resource=resource)
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(measures)
    return spans, measures


# Logging while a command runs: warnings of hlgraph, errors of file parsers, nothing from server drivers.


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
