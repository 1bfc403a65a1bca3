"""Run Cypher queries of users on Neo4j in one reading transaction with a time limit; resolve names, and return JSON values."""

from __future__ import annotations

import base64
import difflib
import functools
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import neo4j
from neo4j import exceptions as foreign
from neo4j.graph import Node, Path, Relationship

from hlgraph.errors import InputError, StoreUnavailableError, UnknownNameError
from hlgraph.ids import entity_ids, normalise_name
from hlgraph.records import Kind
from hlgraph.stores import queries
from hlgraph.stores.image.patching import KEPT, edits, unpack
from hlgraph.stores.neo4j.pull import Admitted
from hlgraph.stores.neo4j.server import LOCK_STOPPED, TIMED_OUT, Row, Server, mapped
from hlgraph.stores.queries import Limits, ParameterValue, Plain, Query, Table
from hlgraph.where import Where, parse

_Ask: TypeAlias = Callable[..., list[Row]]
"""Runs a query of the library by name."""
_FETCH = 1_000
_SUGGESTED = 20
_SHOWN = 5
# Limits on a name to look up: Lucene accepts a few hundred parts, and a fuzzy word expands to many.
_WORDS, _LETTERS = 12, 300
_LUCENE = re.compile(r'([+\-&|!(){}\[\]^"~*?:\\/])')
_WORD = re.compile(r"\w+")
# Times come with nine decimals of a second.
_ZEROS = re.compile(r"(?:(\.\d*?[1-9])|\.)0+(?!\d)")
_SLOW = (TIMED_OUT, LOCK_STOPPED, "Neo.ClientError.Transaction.TransactionTimedOut")
_WRITES = "Neo.ClientError.Statement.AccessMode"
# Errors that the author of the query can correct, in its text or in a value.
_OF_THE_QUERY = ("Neo.ClientError.Statement.", "Neo.ClientError.Procedure.")


class Neo4jReader:
    """Reads one database; see :meth:`hlgraph.stores.protocols.GraphStore.cypher`. The server refuses writes.

    Parameters
    ----------
    server : the database
    admitted : returns the sources of a corpus that a filter admits, as in searches
    """

    def __init__(self, server: Server, admitted: Callable[[str, Where], Admitted]) -> None:
        self._server = server
        self._admitted = admitted

    def read(self, query: Query, params: Mapping[str, ParameterValue], *, corpus: str, limits: Limits) -> Table:
        """See :meth:`GraphStore.cypher`."""
        began = time.perf_counter()
        at_once = min(_FETCH, limits.max_rows + 1)
        with (
            mapped(self._server.url),
            self._server.reading(timeout=limits.timeout, fetch_size=at_once) as transaction,
        ):
            try:
                ask = functools.partial(self._ask, transaction)
                known = self._looked_up(ask, query, params=params, corpus=corpus)
                sent = known | self._scoped(ask, query, params=params, corpus=corpus)
                result = transaction.run(self._text(query), sent)
                columns = tuple(result.keys())
                records = result.fetch(limits.max_rows + 1)
            except foreign.Neo4jError as error:
                _blame(query, error, limits)
                raise
        rows = tuple(
            {key: plain(value) for key, value in zip(columns, record.values(), strict=True)}
            for record in records[: limits.max_rows]
        )
        self._server.count(1, len(rows))
        milliseconds = (time.perf_counter() - began) * 1000
        return Table(columns, rows, len(records) > limits.max_rows, milliseconds, known)

    def _looked_up(
        self, ask: _Ask, query: Query, *, params: Mapping[str, ParameterValue], corpus: str
    ) -> dict[str, ParameterValue]:
        """The values to send, with names of entities and sources replaced by ids. Sends at most five queries."""
        sent = dict(params)
        named = {item.name: (item.kind, str(params[item.name])) for item in query.parameters if item.is_named}
        kinds = {item.kind for item in query.parameters}
        if "corpus" in query.params or named or kinds & {"filter", "kinds", "changes"}:
            _check_corpus(ask, corpus)
        where = " ".join(str(params[item.name]) for item in query.parameters if item.kind == "filter").strip()
        for kind in ("entity", "source"):
            names = {name for of, name in named.values() if of == kind}
            if names:
                admitted = (
                    functools.partial(self._sources, parse(where), corpus) if where and kind == "source" else None
                )
                ids = _entities(ask, names, corpus) if kind == "entity" else _sources(ask, names, corpus, admitted)
                sent |= {parameter: ids[name] for parameter, (of, name) in named.items() if of == kind}
        return sent

    def _scoped(
        self, ask: _Ask, query: Query, *, params: Mapping[str, ParameterValue], corpus: str
    ) -> dict[str, object]:
        """The values to send for filters and for kinds of entities."""
        sent: dict[str, object] = {}
        for parameter in query.parameters:
            text = str(params[parameter.name]).strip()
            if parameter.kind == "filter":
                sent[parameter.name] = self._sources(parse(text), corpus) if text else None
            elif parameter.kind == "kinds":
                sent[parameter.name] = _kinds(ask, text, corpus) if text else []
            elif parameter.kind == "changes":
                sent[parameter.name] = _edits(ask, corpus, number=int(text))
        return sent

    def _sources(self, where: Where, corpus: str) -> Row:
        admitted = self._admitted(corpus, where)
        return {"listed": list(admitted.listed), "admits": admitted.admits}

    def _text(self, query: Query) -> str:
        """The text to send: labels in library queries get the prefix of this database; a user's own query is not changed."""
        prefix = self._server.settings.label_prefix
        is_ours = prefix and query.name in queries.names() and queries.load(query.name) == query
        return queries.prefixed(query.text, prefix) if is_ours else query.text

    def _ask(self, transaction: neo4j.Transaction, name: str, **params: object) -> list[Row]:
        """All rows of a library query."""
        rows = [record.data() for record in transaction.run(self._server.text(name), params)]
        self._server.count(1, len(rows))
        return rows


def _blame(query: Query, error: foreign.Neo4jError, limits: Limits) -> None:
    """Raise an hlgraph error if the query itself caused the error; otherwise return."""
    code = error.code or ""
    said = ((error.message or "").splitlines() or [""])[0][:200]
    if code in _SLOW:
        raise StoreUnavailableError(
            f"{query.name} took longer than {limits.timeout:g} s; narrow the query, or raise its time limit (--timeout)"
        ) from error
    if code == _WRITES:
        raise InputError(f"{query.name} writes ({said}); queries here may only read") from error
    if code.startswith(_OF_THE_QUERY):
        raise InputError(
            f"{query.name}: the server cannot run it ({said}); correct the query or its parameters"
        ) from error


# Names


def _kinds(ask: _Ask, text: str, corpus: str) -> list[str]:
    """The stored kinds of entities that a comma-separated text names, regardless of case."""
    stored = [row["kind"] for row in ask("retrieve/list_kinds", corpus=corpus) if row["kind"]]
    kinds: list[str] = []
    for name in (each.strip().lower() for each in text.split(",")):
        fits = [kind for kind in stored if kind.lower() == name]
        if name and not fits:
            near = difflib.get_close_matches(name, stored)
            remedy = (
                f"did you mean {' or '.join(near)}?"
                if near
                else f"its kinds: {', '.join(stored[:_SUGGESTED]) or 'none'}"
            )
            raise UnknownNameError(f"no entity of corpus {corpus!r} has the kind {name!r}; {remedy}")
        kinds += fits
    return kinds


def _edits(ask: _Ask, corpus: str, *, number: int) -> Row:
    """The effects of the latest changes of a corpus; ``unknown`` counts changes whose record is no longer kept."""
    version = max((row["version"] for row in ask("retrieve/read_state", corpus=corpus)), default=0)
    rows = ask("retrieve/read_image_changes", corpus=corpus, after=version - KEPT)
    lists = {row["version"]: bytes(row["list"]) for row in rows if row["list"]}
    sources, statements, removed = set[str](), set[str](), dict[str, Kind]()
    known = unknown = 0
    for at in range(version, max(version - KEPT, 0), -1):
        if known + unknown == number:
            break
        if at not in lists:
            unknown += 1
            continue
        step = edits(unpack(lists[at]))
        known += bool(step.sources or step.removed)  # others decide about entities
        gone = {name: kind for kind, name in step.removed if name not in sources | statements}
        sources |= step.sources - removed.keys()
        statements |= step.statements - removed.keys()
        removed = gone | removed
    return {
        "sources": sorted(sources),
        "statements": sorted(statements),
        "removed": sorted([kind.value.capitalize(), name] for name, kind in removed.items()),
        "unknown": unknown,
    }


def _check_corpus(ask: _Ask, corpus: str) -> None:
    if not ask("retrieve/read_state", corpus=corpus):
        raise UnknownNameError(f"there is no corpus {corpus!r}; ingest something into it first, or name another")


def _entities(ask: _Ask, names: set[str], corpus: str) -> dict[str, str]:
    """The id of the entity that each text names: by its id, its stored name, or an alias."""
    tried = {name: (name, *entity_ids(corpus, name)) for name in sorted(names)}
    wanted = sorted({each for some in tried.values() for each in some})
    existing = {row["id"] for row in ask("retrieve/match_entities", corpus=corpus, ids=wanted)}
    resolved = {name: next((each for each in some if each in existing), "") for name, some in tried.items()}
    missing = [name for name, each in resolved.items() if not each]
    if missing:
        phrases = [_phrase(name) for name in missing]
        rows = ask("retrieve/suggest_entities", corpus=corpus, phrases=phrases, k=_SUGGESTED)
        for number, name in enumerate(missing):
            resolved[name] = _by_alias(name, [row for row in rows if row["phrase"] == number], corpus)
    return resolved


def _phrase(name: str) -> str:
    """A Lucene query for a name: the exact phrase first, then any of its words with up to two wrong letters."""
    words = [f"{word.lower()}~" for word in _WORD.findall(name)[:_WORDS]]
    whole = _LUCENE.sub(r"\\\1", name[:_LETTERS])
    return " ".join([f'"{whole}"^9', *words])


def _by_alias(name: str, rows: list[Row], corpus: str) -> str:
    wanted = normalise_name(name)
    fits = [row for row in rows if wanted in {normalise_name(each) for each in row["aliases"]}]
    if len(fits) == 1:
        return str(fits[0]["id"])
    if fits:
        listed = ", ".join(f"{row['name']} ({row['id']})" for row in fits)
        raise InputError(f"{name!r} names several entities of corpus {corpus!r}: {listed}; give the id of one")
    near = list(dict.fromkeys(row["name"] for row in rows))[:_SHOWN]
    remedy = f"did you mean {' or '.join(near)}?" if near else "run: hlgraph cypher run find_entities --name WORDS"
    raise UnknownNameError(f"there is no entity {name!r} in corpus {corpus!r}; {remedy}")


def _sources(ask: _Ask, names: set[str], corpus: str, admitted: Callable[[], Row] | None) -> dict[str, str]:
    """The id of the source that each text names: by its id, its URI, its title, or the end of its URI, tried in this order.

    Of several sources, those that the filter admits count: of the versions of a source, that of the moment.
    """
    lowered = sorted({name.lower() for name in names})
    rows = ask("retrieve/match_sources", corpus=corpus, names=lowered, k=_FETCH)
    resolved = {}
    for name in sorted(names):
        low, ending = name.lower(), f"/{name.lower()}"
        steps = (
            [row for row in rows if row["id"] == low],
            [row for row in rows if row["uri"] == name],
            [row for row in rows if row["title"].lower() == low],
            [row for row in rows if f"/{row['uri'].lower()}".endswith(ending)],
        )
        fits = next((step for step in steps if step), [])
        if len(fits) > 1 and admitted is not None:
            scope = admitted()
            fits = [row for row in fits if (row["id"] in scope["listed"]) is scope["admits"]] or fits
        if not fits:
            raise UnknownNameError(
                f"no source of corpus {corpus!r} has the title, uri or id {name!r}; run: hlgraph cypher run list_sources"
            )
        if len(fits) > 1:
            listed = ", ".join(f"{row['uri']} ({row['id']})" for row in fits[:_SHOWN])
            raise InputError(f"{name!r} names {len(fits)} sources: {listed}; give the id of one")
        resolved[name] = str(fits[0]["id"])
    return resolved


# Values


def plain(value: object) -> Plain:
    """Convert a value of the driver into a JSON value; see :data:`hlgraph.stores.queries.Plain`.

    Numbers that JSON lacks (NaN, infinity) and unknown types become texts; bytes become base64.

    Examples
    --------
    >>> plain({"day": neo4j.time.Date(2024, 3, 5), "shares": [0.5, float("nan")]})
    {'day': '2024-03-05', 'shares': [0.5, 'nan']}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Node | Relationship | Path):
        return _of_graph(value)
    if isinstance(value, Mapping):
        return _mapped(value.items())
    # A point is a tuple too; its text names the coordinates.
    is_several = isinstance(value, list | set | frozenset) or type(value) is tuple
    return _listed(value) if is_several and isinstance(value, Iterable) else _as_text(value)


def _of_graph(value: Node | Relationship | Path) -> Plain:
    if isinstance(value, Node):
        return {"labels": _listed(sorted(value.labels)), "properties": _mapped(value.items())}
    if isinstance(value, Path):
        return {"nodes": _listed(value.nodes), "relationships": _listed(value.relationships)}
    # The end nodes may come without properties, so without the id of hlgraph.
    start, end = (None if node is None else plain(node.get("id", node.element_id)) for node in value.nodes)
    return {"type": value.type, "start": start, "end": end, "properties": _mapped(value.items())}


def _as_text(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    return _ZEROS.sub(r"\1", value.iso_format()) if hasattr(value, "iso_format") else str(value)


def _listed(values: Iterable[object]) -> list[Plain]:
    return [plain(item) for item in values]


def _mapped(items: Iterable[tuple[object, object]]) -> dict[str, Plain]:
    return {str(key): plain(item) for key, item in items}
