"""Tracing of store calls: statement, parameters, time and rows, recorded only inside a :func:`listening` block.

A block records the calls of its own execution context (:mod:`contextvars`): two searches in two threads do not see each
other's calls. Work in other threads is recorded if it runs in a copy of the context (``contextvars.copy_context().run``).
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from hlgraph import telemetry
from hlgraph.records import Scalar
from hlgraph.where import to_text

if TYPE_CHECKING:
    from hlgraph.stores.protocols import PullShape, Scope

_log = logging.getLogger(__name__)
Language = Literal["cypher", "json", "sql", "words"]
Value: TypeAlias = Scalar | list["Value"] | dict[str, "Value"] | None
"""A recorded parameter, as a JSON value."""

MOST_VALUES = 1_000
"""Maximum number of recorded values of one list."""
MOST_CHARACTERS = 20_000
"""Maximum number of recorded characters of one text."""
_VECTOR = 16  # a list of at least this many floats is a vector; only its length is recorded

# What a read of an image does.
_READS = {
    "pull": "breadth-first over the graph of corpus {corpus} in memory: {hops} hops from {seeds} seeds, "
    "at most {fan_out:,} neighbours of a node and {cap:,} nodes",
    "match": "the statements of corpus {corpus} in memory that mention any of {seeds} entities, by the number of names",
    "whole": "the whole graph of corpus {corpus} in memory",
}
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SYSTEMS = {"embedded": "sqlite", "image": "hlgraph"}  # db.system.name where it is not the name of the store
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a store, and what it cost.

    Attributes
    ----------
    store : ``neo4j``, ``opensearch`` or ``embedded``; ``image`` for the image of a corpus in Neo4j
    name : name of the query in the library, method and path of a request, or the action of the embedded store
    language : language of ``text``; ``words`` for a read of memory
    text : the statement or request as sent, or a description
    params : its parameters; the first 1,000 values of a long list, and only the length of a vector
    cut : full length of each list or text that ``params`` shortens, by its path in ``params``
    milliseconds : time until the last row arrived, without the time of calls made inside this one
    rows : number of rows returned; None if unknown
    bytes : size of the response; None if unknown
    round_trips : number of exchanges over the network; for the embedded store and an image, number of calls
    step : step of the retrieval that made the call
    copyable : Cypher only: ``:param`` lines and the statement, to paste into cypher-shell or the Neo4j browser
    is_failed : True if the call ended with an error
    """

    store: str
    name: str
    language: Language
    text: str
    params: Mapping[str, Value] = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)
    milliseconds: float = 0.0
    rows: int | None = None
    bytes: int | None = None
    round_trips: int = 1
    step: str = ""
    copyable: str = ""
    is_failed: bool = False


@dataclass(slots=True)
class Running:
    """A running call; its block fills in the result."""

    rows: int | None = None
    bytes: int | None = None
    round_trips: int = 1


@dataclass(slots=True)
class Collector:
    """The calls recorded so far.

    Attributes
    ----------
    calls : in the order in which they ended
    step : name of the current step
    inner : seconds spent in calls inside the current one
    """

    calls: list[Call] = field(default_factory=list)
    step: str = ""
    inner: float = 0.0


_LISTENING: ContextVar[Collector | None] = ContextVar("hlgraph_trace", default=None)
_IS_HASTY: ContextVar[bool] = ContextVar("hlgraph_is_hasty", default=False)


@contextlib.contextmanager
def listening() -> Iterator[Collector]:
    """Record the calls of a block.

    Examples
    --------
    >>> with listening() as heard, traced("embedded", "read names", text="the names in memory") as call:
    ...     call.rows = 3
    >>> [(call.store, call.name, call.rows) for call in heard.calls]
    [('embedded', 'read names', 3)]
    """
    collector = Collector()
    with telemetry.within(_LISTENING, collector):
        yield collector


def is_listening() -> bool:
    """Whether the current context records calls."""
    return _LISTENING.get() is not None


def heard() -> tuple[Call, ...]:
    """The calls that the current context has recorded so far."""
    collector = _LISTENING.get()
    return () if collector is None else tuple(collector.calls)


def hasty(*, is_so: bool = True) -> contextlib.AbstractContextManager[None]:
    """Give each read of a server in the block, and in copies of its context, a short deadline.

    The deadline is ``neo4j.read_seconds`` or ``opensearch.read_seconds``. It applies to a server that is down or does not
    respond; a slow read on a server that responds continues. Searches use it; other reads wait as long as writes.

    Parameters
    ----------
    is_so : False: lifts the deadline for the block
    """
    return telemetry.within(_IS_HASTY, is_so)


def is_hasty() -> bool:
    """Whether reads have a short deadline, see :func:`hasty`."""
    return _IS_HASTY.get()


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Assign the calls of a block to this step, the innermost one if steps are nested. Also a span of OpenTelemetry."""
    collector = _LISTENING.get() or Collector()
    before, collector.step = collector.step, name
    try:
        with telemetry.span(name) if telemetry.is_on() else contextlib.nullcontext():
            yield
    finally:
        collector.step = before


@contextlib.contextmanager
def traced(
    store: str,
    name: str,
    *,
    text: str | Callable[[], str],
    language: Language = "words",
    params: Mapping[str, object] | Callable[[], Mapping[str, object]] | None = None,
) -> Iterator[Running]:
    """Record one call to a store. Outside a :func:`listening` block ``text`` and ``params`` are not called.

    The call is a span if spans are recorded, and is logged if it takes ``slow_query_seconds`` or more.

    Parameters
    ----------
    store : ``neo4j``, ``opensearch``, ``embedded`` or ``image``
    name : name of the call
    text : the statement, or a function that returns it
    language : language of the text
    params : the parameters, or a function that returns them

    Returns
    -------
    context manager of Running
        Its block sets the number of rows, bytes and round trips.
    """
    running = Running()
    collector = _LISTENING.get()
    with contextlib.ExitStack() as around:
        if telemetry.is_on() or telemetry.slow_seconds() is not None:
            around.enter_context(_observed(store, name, running, said=(text, params)))
        if collector is not None:
            call = Call(store, name, language, "")
            around.enter_context(_recorded(collector, running, call, said=(text, params)))
        yield running


_Said: TypeAlias = tuple[str | Callable[[], str], Mapping[str, object] | Callable[[], Mapping[str, object]] | None]


def _evaluated(said: _Said, *, cut: dict[str, int]) -> tuple[str, dict[str, Value]]:
    """Text and parameters of a call, cut to their bounds; ``cut`` receives the full length of what is shortened, by its path."""
    text, params = said
    values = (params() if callable(params) else params) or {}
    kept = {key: _kept(value, key, cut=cut) for key, value in values.items()}
    return text() if callable(text) else text, kept


@contextlib.contextmanager
def _observed(store: str, name: str, running: Running, *, said: _Said) -> Iterator[None]:
    """A span and the metrics of one call; a warning if it was slow."""
    attributes: dict[str, telemetry.Attribute] = {
        "db.system.name": _SYSTEMS.get(store, store),
        "db.operation.name": name,
    }
    start = time.perf_counter()
    try:
        with telemetry.span(f"{store} {name}", attributes, kind="client") as span:
            try:
                yield
            finally:
                span.set({"db.response.returned_rows": running.rows, "hlgraph.round_trips": running.round_trips})
                if span.foreign is not None and telemetry.has_content():
                    text, kept = _evaluated(said, cut={})
                    span.set({"db.query.text": text, "hlgraph.query.parameters": pretty(kept)})
    finally:
        seconds = time.perf_counter() - start
        telemetry.measure("db.client.operation.duration", seconds, by=attributes)
        if running.rows is not None:
            telemetry.measure("db.client.response.returned_rows", running.rows, by=attributes)
        slow = telemetry.slow_seconds()
        if slow is not None and seconds >= slow:
            rows = "rows not counted" if running.rows is None else f"{running.rows:,} rows"
            _log.warning("slow query: %s %s took %.3f s, %s", store, name, seconds, rows)


@contextlib.contextmanager
def _recorded(collector: Collector, running: Running, call: Call, *, said: _Said) -> Iterator[None]:
    """Add one call to those of a :func:`listening` block."""
    outer, collector.inner = collector.inner, 0.0
    start = time.perf_counter()
    is_failed = True
    try:
        yield
        is_failed = False
    finally:
        seconds = time.perf_counter() - start
        milliseconds = round((seconds - collector.inner) * 1000, 3)
        collector.inner = outer + seconds
        cut: dict[str, int] = {}
        text, kept = _evaluated(said, cut=cut)
        recorded = replace(
            call,
            text=text,
            params=kept,
            cut=cut,
            milliseconds=milliseconds,
            step=collector.step,
            is_failed=is_failed,
            rows=running.rows,
            bytes=running.bytes,
            round_trips=running.round_trips,
        )
        collector.calls.append(replace(recorded, copyable=copyable(recorded) if call.language == "cypher" else ""))


def pulling(
    store: str, name: str, *, seeds: Sequence[str], shape: PullShape, scope: Scope
) -> contextlib.AbstractContextManager[Running]:
    """Trace a pull from an image, a match, or a read of the whole graph.

    Parameters
    ----------
    store : name of the store in the trace
    name : ``pull``, ``match`` or ``whole``
    seeds : ids of the seeds
    shape : bounds of the pull
    scope : corpus and sources that may be seen
    """
    return traced(
        store,
        name,
        text=lambda: _READS[name].format(
            corpus=repr(scope.corpus), seeds=len(seeds), hops=shape.hops, fan_out=shape.fan_out, cap=shape.node_cap
        ),
        params=lambda: {
            "seeds": list(seeds),
            "relationships": sorted(shape.relationships),
            "kinds": sorted(shape.kinds),
            **({} if scope.where is None else {"where": to_text(scope.where)}),
            **({} if scope.sources is None else {"sources": list(scope.sources)}),
        },
    )


def count_rows(rows: int) -> None:
    """Set the number of rows of the last call, for callers that know it only after decoding the response."""
    collector = _LISTENING.get()
    if collector is not None and collector.calls:
        collector.calls[-1] = replace(collector.calls[-1], rows=rows)


def _kept(value: object, place: str, *, cut: dict[str, int]) -> Value:
    """A parameter as a JSON value: lists and texts cut to their bounds, vectors and bytes replaced by their size."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray):
        return f"<{len(value):,} bytes>"
    if isinstance(value, str):
        if len(value) > MOST_CHARACTERS:
            cut[place] = len(value)
        return str(value[:MOST_CHARACTERS])
    if isinstance(value, Mapping):
        return {str(key): _kept(item, f"{place}.{key}", cut=cut) for key, item in value.items()}
    size = getattr(value, "size", None)  # of an array
    if isinstance(value, Sequence | frozenset | set):
        items: Sequence[object] = sorted(value, key=str) if isinstance(value, frozenset | set) else value
        if len(items) < _VECTOR or not all(isinstance(item, float) for item in items):
            if len(items) > MOST_VALUES:
                cut[place] = len(items)
            return [_kept(item, f"{place}[{at}]", cut=cut) for at, item in enumerate(items[:MOST_VALUES])]
        size = len(items)
    return f"<{size:,} numbers>" if isinstance(size, int) else f"<{type(value).__name__}>"


def copyable(call: Call) -> str:
    """A call as text to paste into cypher-shell or the Neo4j browser: one ``:param`` line per parameter, then the statement.

    A comment names each list that was cut, and its full length: the pasted statement then returns other rows than the call.

    Examples
    --------
    >>> print(copyable(Call("neo4j", "x", "cypher", "RETURN $name AS name, $k AS k", {"name": "d'Or", "k": 3})))
    :param name => 'd\\'Or'
    :param k => 3
    RETURN $name AS name, $k AS k;
    """
    lines = [f":param {_quoted_name(key)} => {literal(value)}" for key, value in call.params.items()]
    lines += [f"// ${place} is cut: it had {length:,} values" for place, length in call.cut.items()]
    return "\n".join([*lines, f"{call.text};"])


def literal(value: Value) -> str:
    r"""A value as a Cypher literal, on one line.

    Examples
    --------
    >>> literal(["it's", 1.5, True, None, {"a b": "line\nend"}])
    "['it\\'s', 1.5, true, null, {`a b`: 'line\\nend'}]"
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted_name(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(literal, value)) + "]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    escaped = _CONTROL.sub(lambda match: _ESCAPED.get(match[0], f"\\u{ord(match[0]):04X}"), escaped)
    # Some versions read \u as the start of a code point even after an escaped backslash: keep the two apart.
    parts = escaped.replace("\\\\u", "\\\\\0u").split("\0")
    return " + ".join(f"'{part}'" for part in parts)


def _quoted_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def request_text(method: str, path: str, *, parameters: Mapping[str, str] | None) -> str:
    """The first line of a request to OpenSearch, in the form of its console.

    Parameters
    ----------
    method : HTTP method
    path : path of the request
    parameters : query parameters; None for no parameters
    """
    query = "&".join(f"{key}={value}" for key, value in (parameters or {}).items())
    return f"{method} {path}{'?' if query else ''}{query}"


def pretty(params: Mapping[str, Value], *, most: int = MOST_VALUES) -> str:
    """Parameters as JSON on one line, with long lists shortened.

    Parameters
    ----------
    params : parameters of a call
    most : maximum number of values shown of one list; the rest is counted
    """
    return json.dumps(shortened(dict(params), most=most), ensure_ascii=False)


def shortened(value: Value, *, most: int) -> Value:
    """A parameter with its long lists shortened; a last item counts the omitted values.

    Parameters
    ----------
    value : parameter of a call
    most : maximum number of values of one list

    Examples
    --------
    >>> shortened({"ids": ["a", "b", "c"]}, most=2)
    {'ids': ['a', 'b', '... 1 more']}
    """
    if isinstance(value, dict):
        return {key: shortened(item, most=most) for key, item in value.items()}
    if isinstance(value, list):
        kept = [shortened(item, most=most) for item in value[:most]]
        return [*kept, f"... {len(value) - most:,} more"] if len(value) > most else kept
    return value
