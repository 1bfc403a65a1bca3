"""Telemetry: spans and metrics of OpenTelemetry, correlation ids, and the limit of a slow query.

hlgraph calls only the API of OpenTelemetry. Spans and metrics are recorded once something else has set a provider: the
application that sets up its SDK, or ``hlgraph --trace``. Until then a span costs one lookup, also where another package, such
as FastAPI, has imported the API.

Names follow the semantic conventions for databases and for generative AI. Content written by people (questions, texts,
parameters of statements) is recorded only if ``telemetry.content`` is set.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from hlgraph.errors import InputError

if TYPE_CHECKING:
    from opentelemetry.trace import Span as ForeignSpan

Attribute: TypeAlias = bool | int | float | str | Sequence[str]
Kind = Literal["internal", "client"]
T = TypeVar("T")

_LONGEST_ID = 128
_PROVIDERS = {"bedrock": "aws.bedrock"}
# Instruments by name: kind, unit, description.
_INSTRUMENTS: Mapping[str, tuple[str, str, str]] = {
    "db.client.operation.duration": ("histogram", "s", "Duration of calls to the stores."),
    "db.client.response.returned_rows": ("histogram", "{row}", "Rows that calls to the stores returned."),
    "gen_ai.client.operation.duration": ("histogram", "s", "Duration of calls of models."),
    "gen_ai.client.token.usage": ("histogram", "{token}", "Tokens of calls of chat models."),
    "hlgraph.model.cost": ("counter", "{USD}", "Cost of calls of chat models with a known price."),
    "hlgraph.operation.duration": ("histogram", "s", "Duration of calls of the SDK."),
    "hlgraph.search.evidence": ("histogram", "{evidence}", "Pieces of evidence that searches returned."),
}


@dataclass(frozen=True, slots=True)
class _Operation:
    """The call that a context works for."""

    id: str = ""
    is_begun: bool = False
    is_on: bool = False
    has_content: bool = False
    slow_seconds: float | None = None


_OPERATION: ContextVar[_Operation] = ContextVar("hlgraph_operation", default=_Operation())  # noqa: B039 - frozen


@dataclass(slots=True)
class Span:
    """An open span; without OpenTelemetry it ignores its attributes."""

    foreign: ForeignSpan | None = None

    def set(self, attributes: Mapping[str, Attribute | None]) -> None:
        """Adds attributes; those that are None are left out."""
        if self.foreign is not None:
            for name, value in attributes.items():
                if value is not None:
                    self.foreign.set_attribute(name, value)


@dataclass(slots=True)
class ModelCall:
    """A running call of a model; its block fills in the figures that the provider reports.

    Attributes
    ----------
    input_tokens, output_tokens : tokens of the request and of the reply
    usd : cost in US dollars; None: not known
    content : attributes that are recorded only with ``telemetry.content``
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    content: dict[str, Attribute] = field(default_factory=dict)


class CorrelationFilter(logging.Filter):
    """Gives every log record the attribute ``correlation_id``; attach it to a handler. Empty outside of a call.

    Examples
    --------
    >>> record = logging.LogRecord("hlgraph", logging.INFO, "", 0, "words", None, None)
    >>> with correlated("request-7"):
    ...     CorrelationFilter().filter(record), record.correlation_id
    (True, 'request-7')
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Sets the attribute; keeps every record."""
        record.correlation_id = correlation_id()
        return True


@contextlib.contextmanager
def within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable of the context a value for a block.

    Parameters
    ----------
    variable : the variable
    value : its value in the block

    Examples
    --------
    >>> depth = ContextVar("depth", default=0)
    >>> with within(depth, 1):
    ...     depth.get()
    1
    >>> depth.get()
    0
    """
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextlib.contextmanager
def correlated(id: str) -> Iterator[None]:  # noqa: A002
    """Give the calls of a block an id of the caller's own, in log records and spans.

    Parameters
    ----------
    id : printable text of 1 to 128 characters, such as the id of a request

    Raises
    ------
    InputError
        The id cannot be used.
    """
    if not isinstance(id, str) or not 1 <= len(id) <= _LONGEST_ID or not id.isprintable():
        raise InputError(f"the correlation id is {id!a:.60}; give a printable text of 1 to {_LONGEST_ID} characters")
    with within(_OPERATION, replace(_OPERATION.get(), id=id)):
        yield


def correlation_id() -> str:
    """The id of the call that this context works for: the caller's own, the id of the trace, or a random one; empty outside."""
    return _OPERATION.get().id


def has_content() -> bool:
    """Whether spans of this context record questions, texts and parameters of statements."""
    return _OPERATION.get().has_content


def slow_seconds() -> float | None:
    """Seconds from which a call to a store is logged in this context; None: never."""
    return _OPERATION.get().slow_seconds


def is_on() -> bool:
    """Whether spans and metrics are recorded: a provider of OpenTelemetry is set. A call of the SDK keeps what it began with."""
    now = _OPERATION.get()
    return now.is_on if now.is_begun else _is_provided("trace", "tracer") or _is_provided("metrics", "meter")


def _is_provided(part: str, role: str) -> bool:
    """Whether something has set a provider; until then the API has one of its own, which records nothing."""
    api = sys.modules.get(f"opentelemetry.{part}")
    return api is not None and not type(getattr(api, f"get_{role}_provider")()).__module__.startswith(api.__name__)


@contextlib.contextmanager
def operation(name: str, *, content: bool | None = None, slow_query_seconds: float | None = None) -> Iterator[None]:
    """One call of the SDK, with a span, a duration and an id. A call inside another call is part of that call.

    Parameters
    ----------
    name : class and method
    content, slow_query_seconds : see :class:`hlgraph.settings.TelemetrySettings`; if ``content`` is None, both are those of
        the surrounding context
    """
    before = _OPERATION.get()
    if before.is_begun:
        yield
        return
    start = time.perf_counter()
    with span(f"hlgraph {name}") as own_span:
        now = replace(
            before,
            id=before.id or _trace_id(own_span) or uuid.uuid4().hex,
            is_begun=True,
            is_on=own_span.foreign is not None,
        )
        if content is not None:
            now = replace(now, has_content=content, slow_seconds=slow_query_seconds)
        own_span.set({"hlgraph.correlation_id": now.id})
        try:
            with within(_OPERATION, now):
                yield
        finally:
            measure("hlgraph.operation.duration", time.perf_counter() - start, by={"hlgraph.operation.name": name})


def continued(items: Iterator[T]) -> Iterator[T]:
    """The items of an iterator, each computed in the context of this call, although the iterator is read after the call.

    Parameters
    ----------
    items : an iterator that has not begun
    """
    context, end = copy_context(), object()
    return _continued(items, context.run, end)


def _continued(items: Iterator[T], run: Callable[..., Any], end: object) -> Iterator[T]:
    try:
        while (step := run(next, items, end)) is not end:
            yield step
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            run(close)


@contextlib.contextmanager
def span(
    name: str, attributes: Mapping[str, Attribute] | None = None, *, kind: Kind = "internal", is_current: bool = True
) -> Iterator[Span]:
    """A span around a block. Of an error only the type is recorded, because its message may quote a text.

    Parameters
    ----------
    name : name of the span
    attributes : its first attributes
    kind : ``client`` for a call to a server or a model
    is_current : whether spans of the block are its children; False for a block that a generator leaves and enters again
    """
    if not is_on():
        yield Span()
        return
    from opentelemetry import trace

    kinds = {"internal": trace.SpanKind.INTERNAL, "client": trace.SpanKind.CLIENT}
    foreign = tracer().start_span(name, kind=kinds[kind], attributes=attributes)
    own = trace.use_span(foreign, record_exception=False, set_status_on_exception=False)
    try:
        with own if is_current else contextlib.nullcontext():
            yield Span(foreign)
    except BaseException as error:
        foreign.set_attribute("error.type", type(error).__name__)
        foreign.set_status(trace.StatusCode.ERROR)
        raise
    finally:
        foreign.end()


def measure(name: str, value: float, *, by: Mapping[str, Attribute]) -> None:
    """Adds a value to a metric, if they are recorded.

    Parameters
    ----------
    name : one of the instruments of hlgraph
    value : the value, in the unit of the instrument
    by : attributes, of few values each: no ids, no texts
    """
    if is_on():
        meter = instrument(name)
        (meter.add if _INSTRUMENTS[name][0] == "counter" else meter.record)(value, by)


@contextlib.contextmanager
def model_call(task: str, model: str, *, is_current: bool = True) -> Iterator[ModelCall]:
    """A call of a model: a span, and the metrics of duration, tokens and cost, by the conventions for generative AI.

    Parameters
    ----------
    task : ``chat``, ``embeddings`` or ``rerank``
    model : fingerprint of the model, ``provider:model`` or the name of a local one
    is_current : see :func:`span`
    """
    call, start = ModelCall(), time.perf_counter()
    provider, colon, name = model.partition(":")
    name, provider = (name, _PROVIDERS.get(provider, provider)) if colon else (model, "hlgraph")
    said: dict[str, Attribute] = {
        "gen_ai.operation.name": task,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": name,
    }
    try:
        with span(f"{task} {name}", said, kind="client", is_current=is_current) as own_span:
            try:
                yield call
            finally:
                own_span.set(
                    {
                        "gen_ai.usage.input_tokens": call.input_tokens,
                        "gen_ai.usage.output_tokens": call.output_tokens,
                        "hlgraph.model.cost": call.usd,
                        **(call.content if has_content() else {}),
                    }
                )
    finally:
        measure("gen_ai.client.operation.duration", time.perf_counter() - start, by=said)
        for kind, tokens in (("input", call.input_tokens), ("output", call.output_tokens)):
            if tokens is not None:
                measure("gen_ai.client.token.usage", tokens, by={**said, "gen_ai.token.type": kind})
        if call.usd:
            measure("hlgraph.model.cost", call.usd, by=said)


@cache
def tracer() -> Any:
    """The tracer of hlgraph, from the provider that is, or will be, set in this process."""
    from opentelemetry import trace

    return trace.get_tracer("hlgraph")


@cache
def instrument(name: str) -> Any:
    """One of the instruments of hlgraph, by name."""
    from opentelemetry import metrics

    kind, unit, about = _INSTRUMENTS[name]
    meter = metrics.get_meter("hlgraph")
    make = meter.create_counter if kind == "counter" else meter.create_histogram
    return make(name, unit=unit, description=about)


def _trace_id(own_span: Span) -> str:
    """The id of the trace that a span is part of; empty if no trace is recorded."""
    context = None if own_span.foreign is None else own_span.foreign.get_span_context()
    return f"{context.trace_id:032x}" if context is not None and context.is_valid else ""
