"""What stores were asked: they write it to a collector while somebody listens, and nowhere when nobody does.

Listening belongs to one context of execution (:mod:`contextvars`): two searches in two threads do not see each other's
calls. Work that is handed to other threads is seen when it runs in a copy of the context
(``contextvars.copy_context().run``).
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from hlgraph.records import Scalar

Language = Literal["cypher", "json", "sql", "words"]
Value: TypeAlias = Scalar | list["Value"] | dict[str, "Value"] | None
"""A parameter as it is kept: what JSON can say."""

MOST_VALUES = 1_000
"""Values of one list that are kept."""
MOST_CHARACTERS = 20_000
"""Characters of one text that are kept."""
_VECTOR = 16  # so many numbers with a point are a vector, not a list to read

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a store, and what it cost.

    Attributes
    ----------
    store : ``neo4j``, ``opensearch`` or ``embedded``
    name : the query of the library, the method and path of a request, or what an embedded store did
    language : what ``text`` is written in; ``words`` where the embedded store reads its own memory
    text : the statement or request as it was sent, or a description
    params : its parameters; of long lists the first thousand values, of a vector only how many numbers it has
    cut : how long the lists (or texts) really were of which only a part is kept, by the place in ``params``
    milliseconds : until the last row was here, without those of calls that were made inside this one
    rows : how many rows came back; None where nobody counted
    bytes : size of the answer; None where it is not known
    round_trips : how often something went over the wire and back; of the embedded store, how often it was asked
    step : the step of the retrieval that asked
    copyable : Cypher only: ``:param`` lines and the statement, to paste into cypher-shell or the browser
    is_failed : True when it ended with an error
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
    """A call under way: its block fills in what came back."""

    rows: int | None = None
    bytes: int | None = None
    round_trips: int = 1


@dataclass(slots=True)
class Collector:
    """The calls heard so far, in the order in which they ended, the step that is under way, seconds of calls inside one."""

    calls: list[Call] = field(default_factory=list)
    step: str = ""
    inner: float = 0.0


_LISTENING: ContextVar[Collector | None] = ContextVar("hlgraph_trace", default=None)


@contextlib.contextmanager
def listening() -> Iterator[Collector]:
    """Collect the calls of a block.

    Examples
    --------
    >>> with listening() as heard, traced("embedded", "read names", text="the names in memory") as call:
    ...     call.rows = 3
    >>> [(call.store, call.name, call.rows) for call in heard.calls]
    [('embedded', 'read names', 3)]
    """
    made = Collector()
    token = _LISTENING.set(made)
    try:
        yield made
    finally:
        _LISTENING.reset(token)


def is_listening() -> bool:
    """Whether calls are collected here."""
    return _LISTENING.get() is not None


def heard() -> tuple[Call, ...]:
    """The calls that were collected here until now."""
    collector = _LISTENING.get()
    return () if collector is None else tuple(collector.calls)


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Calls in the block are of this step; of the inner one, where steps are inside each other."""
    collector = _LISTENING.get()
    if collector is None:
        yield
        return
    before, collector.step = collector.step, name
    try:
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
    """Trace one call to a store; nothing is worked out, and ``text`` and ``params`` are not called, when nobody listens."""
    running = Running()
    collector = _LISTENING.get()
    if collector is None:
        yield running
        return
    outer, collector.inner = collector.inner, 0.0
    start = time.perf_counter()
    is_failed = True
    try:
        yield running
        is_failed = False
    finally:
        seconds = time.perf_counter() - start
        milliseconds = round((seconds - collector.inner) * 1000, 3)
        collector.inner = outer + seconds
        cut: dict[str, int] = {}
        given = params() if callable(params) else params or {}
        kept = {key: _kept(value, key, cut=cut) for key, value in given.items()}
        said = text() if callable(text) else text
        made = Call(store, name, language, said, kept, cut, milliseconds, step=collector.step, is_failed=is_failed)
        collector.calls.append(
            replace(
                made,
                rows=running.rows,
                bytes=running.bytes,
                round_trips=running.round_trips,
                copyable=copyable(made) if language == "cypher" else "",
            )
        )


def count_rows(rows: int) -> None:
    """Say how many rows the last call gave, where that is known only after its answer was decoded."""
    collector = _LISTENING.get()
    if collector is not None and collector.calls:
        collector.calls[-1] = replace(collector.calls[-1], rows=rows)


def _kept(value: object, place: str, *, cut: dict[str, int]) -> Value:
    """A parameter as JSON can say it: lists and texts to their bounds, vectors and bytes by their size."""
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
    """The call as one pastes it into cypher-shell or the browser of Neo4j: a ``:param`` line a parameter, the statement.

    A list that was cut is named in a comment, with its length: then the statement gives other rows than it did.

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
    r"""A value as an expression of Cypher, on one line.

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
    escaped = _CONTROL.sub(lambda found: _ESCAPED.get(found[0], f"\\u{ord(found[0]):04X}"), escaped)
    # Some versions read \u as the start of a code point even behind an escaped backslash: keep the two apart.
    parts = escaped.replace("\\\\u", "\\\\\0u").split("\0")
    return " + ".join(f"'{part}'" for part in parts)


def _quoted_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def request_text(method: str, path: str, *, parameters: Mapping[str, str] | None) -> str:
    """The first line of a request to OpenSearch, as its console takes it."""
    query = "&".join(f"{key}={value}" for key, value in (parameters or {}).items())
    return f"{method} {path}{'?' if query else ''}{query}"


def pretty(params: Mapping[str, Value], *, most: int = MOST_VALUES) -> str:
    """Parameters as JSON on one line; of longer lists the first ``most`` values and how many more there are."""
    return json.dumps(shortened(dict(params), most=most), ensure_ascii=False)


def shortened(value: Value, *, most: int) -> Value:
    """A parameter with at most so many values in each list, then a text that says how many more there are.

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
