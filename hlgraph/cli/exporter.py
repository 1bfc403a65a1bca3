"""Sends spans and metrics of one command to the console or a collector: configures the OpenTelemetry SDK."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from hlgraph.errors import MissingExtraError, SettingsError

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
