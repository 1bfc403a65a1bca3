"""Spans, metrics, ids and slow queries: what is shown of a search, an ingest and a call of a model, and what is not."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from streamed_chat import StreamedChat

import hlgraph
from hlgraph import telemetry
from hlgraph.cli.command import exporting
from hlgraph.errors import InputError, MissingExtraError, ModelAccessError, SettingsError, StoreError
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.protocols import Completion
from hlgraph.settings import ModelSettings, Price, Settings, TelemetrySettings
from hlgraph.stores import trace
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import SeededEmbedder

TEXT = "The Halfmoon Bridge was designed by Jonas Querl. It was built in 1871.\n"
QUESTION = "Who designed the Halfmoon Bridge?"


@dataclass
class Seen:
    """What reached the SDK of OpenTelemetry."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def points(self, name: str) -> list[tuple[float, dict[str, Any]]]:
        """Sum and attributes of the points of a metric."""
        data = self.reader.get_metrics_data()
        found = [metric for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
        points = [point for metric in found if metric.name == name for point in metric.data.data_points]
        return [(getattr(point, "sum", getattr(point, "value", 0)), dict(point.attributes)) for point in points]

    def words(self) -> str:
        """Every name and value in every span."""
        return "\n".join(
            f"{span.name} {dict(span.attributes or {})} {span.events} {span.status.description}"
            for span in self.exporter.get_finished_spans()
        )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """An SDK of this test alone: the one of the process can be set only once."""
    made = Seen(InMemorySpanExporter(), InMemoryMetricReader())
    provider, meters = TracerProvider(), MeterProvider(metric_readers=[made.reader])
    provider.add_span_processor(SimpleSpanProcessor(made.exporter))
    monkeypatch.setattr(telemetry, "tracer", lambda: provider.get_tracer("hlgraph"))
    monkeypatch.setattr(telemetry, "_is_provided", lambda part, role: True)
    meter, held = meters.get_meter("hlgraph"), dict[str, Any]()

    def instrument(name: str) -> Any:
        kind, unit, about = telemetry._INSTRUMENTS[name]
        make = meter.create_counter if kind == "counter" else meter.create_histogram
        return held.setdefault(name, None) or held.update({name: make(name, unit, about)}) or held[name]

    monkeypatch.setattr(telemetry, "instrument", instrument)
    yield made
    provider.shutdown()
    meters.shutdown()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("telemetry")
    (folder / "a.md").write_text(TEXT, encoding="utf-8")
    with hlgraph.HLGraph(Settings(store=f"hlgraph://{folder}/graph"), embedder=SeededEmbedder()) as graph:
        graph.ingest([str(folder / "a.md")])
    return folder


def opened(folder: Path, **settings: Any) -> hlgraph.HLGraph:
    told = TelemetrySettings(**settings)
    return hlgraph.HLGraph(Settings(store=f"hlgraph://{folder}/graph", telemetry=told), embedder=SeededEmbedder())


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return dict(span.attributes or {})


def test_a_search_is_one_trace_of_steps_and_store_calls(filled: Path, seen: Seen) -> None:
    with opened(filled) as graph:
        found = graph.search(QUESTION, strategy="path", k=3)
    spans = seen.spans
    said = attributes(spans["retrieval default"])
    assert said["gen_ai.operation.name"] == "retrieval"
    assert said["gen_ai.data_source.id"] == "default"
    assert said["gen_ai.retrieval.top_k"] == 3
    assert said["hlgraph.search.strategy"] == "path"
    assert said["hlgraph.search.evidence"] == len(found.evidence) > 0
    call = spans["embedded read statement"]
    assert attributes(call)["db.system.name"] == "sqlite"
    assert attributes(call)["db.response.returned_rows"] > 0
    root, step = spans["hlgraph HLGraph.search"], spans["read statement"]
    assert call.parent is not None
    assert call.parent.span_id == step.context.span_id
    assert {span.context.trace_id for span in spans.values()} == {root.context.trace_id}
    assert attributes(root)["hlgraph.correlation_id"] == f"{root.context.trace_id:032x}"
    (duration, by), *_ = seen.points("hlgraph.operation.duration")
    assert duration > 0
    assert by == {"hlgraph.operation.name": "HLGraph.search"}
    assert sum(value for value, _ in seen.points("db.client.response.returned_rows")) > 0
    assert seen.points("db.client.operation.duration")


@pytest.mark.parametrize("content", [False, True])
def test_content_is_recorded_only_if_the_setting_allows_it(filled: Path, seen: Seen, content: bool) -> None:
    with opened(filled, content=content) as graph:
        graph.search(QUESTION, strategy="path", where="uri = 'secret'")
        with pytest.raises(InputError):
            graph.search(QUESTION, k=-1)
    for word in (QUESTION, "secret"):
        assert (word in seen.words()) == content
    failed = [span for span in seen.exporter.get_finished_spans() if not span.status.is_ok]
    assert attributes(failed[-1])["error.type"] == "InputError"
    assert failed[-1].status.description is None


def test_an_ingest_shows_its_stages(tmp_path: Path, seen: Seen) -> None:
    (tmp_path / "a.md").write_text(TEXT, encoding="utf-8")
    with opened(tmp_path) as graph:
        graph.ingest([str(tmp_path / "a.md")])
    assert {f"hlgraph {name}" for name in ("read", "compare", "extract", "embed", "persist")} <= seen.spans.keys()
    assert "Halfmoon" not in seen.words()


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_chat_call_records_tokens_and_cost(seen: Seen, is_streamed: bool) -> None:
    reply = Completion("It is.", 200, 10)
    chat = StreamedChat([["It ", reply]]) if is_streamed else ScriptedChat([reply])
    chat._name = "openai:gpt-4o-mini"
    executor = Executor(chat, accounts=Accounts(price=Price(1, 2)))
    with telemetry.operation("test", content=False):
        asked = executor.about(Purpose())
        *_, found = asked.stream("s", "u", max_tokens=5) if is_streamed else [asked.complete("s", "u", max_tokens=5)]
    assert isinstance(found, Completion)
    said = attributes(seen.spans["chat gpt-4o-mini"])
    assert (said["gen_ai.provider.name"], said["gen_ai.request.model"]) == ("openai", "gpt-4o-mini")
    tokens = found.input_tokens, found.output_tokens
    assert (said["gen_ai.usage.input_tokens"], said["gen_ai.usage.output_tokens"]) == tokens
    usage = {by["gen_ai.token.type"]: value for value, by in seen.points("gen_ai.client.token.usage")}
    assert usage == {"input": tokens[0], "output": tokens[1]}
    ((cost, _),) = seen.points("hlgraph.model.cost")
    assert cost == pytest.approx(Price(1, 2).cost(*tokens))
    assert "gen_ai.input.messages" not in said


def test_a_failed_call_records_only_the_error_type(seen: Seen) -> None:
    executor = Executor(ScriptedChat([ModelAccessError("the key sk-1 is wrong")]))
    with pytest.raises(ModelAccessError):
        executor.complete("s", "u", max_tokens=5)
    assert attributes(seen.spans["chat scripted"])["error.type"] == "ModelAccessError"
    assert "sk-1" not in seen.words()


def test_a_cached_text_is_not_a_model_call(tmp_path: Path, seen: Seen) -> None:
    embedder = CachedEmbedder(SeededEmbedder(), tmp_path / "vectors.db")
    for _ in range(2):
        embedder.embed(["a", "b"])
    embedder.close()
    made = [span for span in seen.exporter.get_finished_spans() if span.name.startswith("embeddings ")]
    assert len(made) == 1
    assert attributes(made[0])["gen_ai.operation.name"] == "embeddings"


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.addFilter(telemetry.CorrelationFilter())
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def records() -> Iterator[_Records]:
    handler, logger = _Records(), logging.getLogger("hlgraph")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def test_a_slow_query_is_logged_without_its_parameters_and_with_the_id_of_its_call(
    filled: Path, records: _Records
) -> None:
    with opened(filled, slow_query_seconds=0.0) as graph:
        with hlgraph.correlated("request-7"):
            graph.search("secret words", strategy="statement")
        own = [record for record in records.records if "slow query" in record.getMessage()]
        graph.stats()
    assert any("embedded read statement took 0." in record.getMessage() for record in own)
    assert all("rows" in record.getMessage() and "secret" not in record.getMessage() for record in own)
    assert {record.correlation_id for record in own} == {"request-7"}  # type: ignore[attr-defined]
    later = {record.correlation_id for record in records.records[len(own) :]}  # type: ignore[attr-defined]
    assert len(later) == 1
    assert "request-7" not in later
    assert "" not in later


def test_without_the_setting_no_query_is_slow(filled: Path, records: _Records) -> None:
    with opened(filled) as graph:
        graph.search(QUESTION, strategy="statement")
    assert records.records == []


def test_a_slow_query_that_fails_is_logged_too(records: _Records) -> None:
    with (
        pytest.raises(StoreError),
        telemetry.operation("test", content=False, slow_query_seconds=0.0),
        trace.traced("neo4j", "retrieve/x", text="RETURN 1"),
    ):
        raise StoreError("gone")
    assert [record.getMessage().partition(" took")[0] for record in records.records] == ["slow query: neo4j retrieve/x"]


def test_a_correlation_id_reaches_the_threads_of_its_call() -> None:
    found: list[str] = []
    with telemetry.operation("outer"):
        first = telemetry.correlation_id()
        with telemetry.operation("inner"):
            assert telemetry.correlation_id() == first
        thread = threading.Thread(target=copy_context().run, args=(lambda: found.append(telemetry.correlation_id()),))
        thread.start()
        thread.join()
        Executor(ScriptedChat([])).run(lambda _: found.append(telemetry.correlation_id()), ["item"])
    assert found == [first, first]
    assert telemetry.correlation_id() == ""
    with telemetry.operation("outer"):
        assert telemetry.correlation_id() != first


def test_a_stream_keeps_the_correlation_id_of_its_call(filled: Path) -> None:
    ids: list[str] = []

    def reply(_system: str, _user: str) -> str:
        ids.append(telemetry.correlation_id())
        return "The bridge [1]."

    store = Settings(store=f"hlgraph://{filled}/graph", models=ModelSettings(keep_replies=False))
    with hlgraph.HLGraph(store, embedder=SeededEmbedder(), chat=ScriptedChat(reply)) as graph:
        with hlgraph.correlated("stream-1"):
            events = graph.answer_stream(QUESTION, strategy="statement")
        list(events)
    assert set(ids) == {"stream-1"}


@pytest.mark.parametrize("wrong", ["", "a\nb", "x" * 129])
def test_unprintable_correlation_ids_are_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="correlation id"), hlgraph.correlated(wrong):
        pass


def test_unknown_exporters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="choose console or otlp"), exporting("file"):
        pass
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[otel\]'"), exporting("console"):
        pass


def test_opentelemetry_is_not_imported_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "is_on", lambda: False)
    monkeypatch.setattr(telemetry, "tracer", lambda: pytest.fail("no span is made"))
    with telemetry.span("x") as span, telemetry.model_call("chat", "openai:x"):
        span.set({"a": 1})
    telemetry.measure("hlgraph.model.cost", 1.0, by={})


def test_the_api_alone_records_nothing_until_a_provider_is_set() -> None:
    lines = """
        import fastapi, opentelemetry.trace as trace, opentelemetry.metrics as metrics
        from hlgraph import telemetry
        before = telemetry.is_on()
        with telemetry.operation("search"), telemetry.span("step") as span:
            inside = telemetry.is_on(), span.foreign
        from opentelemetry.sdk.{part} import {provider}
        {part}.set_{role}_provider({provider}())
        with telemetry.operation("search"):
            print(before, inside, telemetry.is_on())
    """
    for part, role, provider in (("trace", "tracer", "TracerProvider"), ("metrics", "meter", "MeterProvider")):
        code = textwrap.dedent(lines).format(part=part, role=role, provider=provider)
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout == "False (False, None) True\n"


@pytest.mark.parametrize("wrong", [{"exporter": "file"}, {"slow_query_seconds": -1.0}])
def test_invalid_telemetry_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        TelemetrySettings(**wrong)
