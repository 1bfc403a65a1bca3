"""The lists of what changes did to the graph: one is recorded with each new version of a corpus, and read to patch an image.

A list leads from one state of a corpus to the next. A state is a version and a stamp, which no other state has, so a list never
fits the image of a database that was restored or made anew.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hlgraph.change import Change, Synonym
from hlgraph.records import Kind
from hlgraph.stores.image.patching import (
    KEPT,
    Asserted,
    ChangeList,
    State,
    Step,
    Stored,
    altered_since,
    edited,
    is_listed,
    leading_to,
    listed,
    merged,
    pack,
    shared,
    touched_since,
)
from hlgraph.stores.protocols import Altered

_STATEMENTS = (
    "FROM json_each(:ids) AS w CROSS JOIN node AS s ON s.key = hlgraph_key(w.value) "
    "CROSS JOIN in_chunk AS i ON i.statement = s.n"
)
_ASSERTED = tuple(
    f"SELECT DISTINCT s.id, o.id {_STATEMENTS} CROSS JOIN {table} AS t ON t.chunk = i.chunk AND t.statement = s.n "
    f"CROSS JOIN node AS o ON o.n = t.{column}"
    for table, column in (("about", "topic"), ("mentions", "entity"), ("supports", "fact"))
)
_CHUNKS = """
    SELECT x.id, c.position, n.id FROM json_each(:ids) AS w CROSS JOIN node AS x ON x.key = hlgraph_key(w.value)
    CROSS JOIN node AS n ON n.source = x.n AND n.kind = 1 CROSS JOIN chunk AS c ON c.n = n.n"""
_SYNONYMS = """
    SELECT a.id, b.id, s.similarity FROM t_synonym AS t CROSS JOIN node AS a ON a.key = t.a CROSS JOIN node AS b ON b.key = t.b
    CROSS JOIN synonym AS s ON s.a = min(a.n, b.n) AND s.b = max(a.n, b.n)"""


def record(connection: sqlite3.Connection, change: Change, *, vanished: Mapping[str, Sequence[str]]) -> None:
    """Give a corpus its next version, and record the list of its change; the temporary tables still hold the change.

    Parameters
    ----------
    connection : connection of the writer
    change : the change, which is applied
    vanished : ids of the records that vanished, by kind
    """
    change_list = None
    if is_listed(change, vanished):
        dirty = connection.execute("SELECT id FROM t_dirty CROSS JOIN node USING (n) WHERE kind = 3")
        old = (name for (name,) in dirty)
        stored = Stored(
            vanished,
            _asserted(connection, shared(change, old=old, vanished=vanished)),
            _following(connection, edited(change, removed=vanished.get(Kind.CHUNK.value, ()))),
            [Synonym(*row) for row in connection.execute(_SYNONYMS)],
        )
        change_list = listed(change, stored)
    _record(connection, change.corpus, change_list)


def record_merges(
    connection: sqlite3.Connection, corpus: str, *, cut: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]
) -> None:
    """Give a corpus its next version, and record which entities are merged.

    Parameters
    ----------
    connection : connection of the writer
    corpus : name of the corpus
    cut : pairs that are merged no more, in either direction
    added : pairs that are merged: the alias and the canonical entity
    """
    _record(connection, corpus, merged(cut=cut, added=added))


def record_rebinding(connection: sqlite3.Connection, corpus: str) -> None:
    """Give a corpus its next version after all its synonyms were replaced; images of it are filled again.

    Parameters
    ----------
    connection : connection of the writer
    corpus : name of the corpus
    """
    _record(connection, corpus, None)


def _record(connection: sqlite3.Connection, corpus: str, change_list: ChangeList | None) -> None:
    c, version, before = connection.execute("SELECT c, version, stamp FROM corpus WHERE name = ?", (corpus,)).fetchone()
    stamp = uuid.uuid4().hex
    is_empty = connection.execute("SELECT 1 FROM node WHERE c = ? LIMIT 1", (c,)).fetchone() is None
    data = b"" if change_list is None or is_empty else pack(change_list)  # no id of an emptied corpus stays
    connection.execute("UPDATE corpus SET version = ?, stamp = ? WHERE c = ?", (version + 1, stamp, c))
    connection.execute("INSERT INTO image_change VALUES (?, ?, ?, ?, ?)", (c, version + 1, before, stamp, data))
    last = version if is_empty else version + 1 - KEPT
    connection.execute("DELETE FROM image_change WHERE c = ? AND version <= ?", (c, last))


def _asserted(connection: sqlite3.Connection, ids: list[str]) -> Iterator[Asserted]:
    parts: tuple[dict[str, list[str]], ...] = ({}, {}, {})
    for part, query in zip(parts, _ASSERTED, strict=True):
        for statement, other in connection.execute(query, {"ids": json.dumps(ids)}) if ids else ():
            part.setdefault(statement, []).append(other)
    for name in ids:
        yield Asserted(name, *(part.get(name, ()) for part in parts))


def _following(connection: sqlite3.Connection, sources: list[str]) -> Iterator[tuple[str, str | None]]:
    rows = connection.execute(_CHUNKS, {"ids": json.dumps(sources)}) if sources else ()
    chunks = {(source, position): chunk for source, position, chunk in rows}
    for (source, position), chunk in sorted(chunks.items()):
        yield chunk, chunks.get((source, position + 1))


def state_of(connection: sqlite3.Connection, corpus: str) -> tuple[int, State] | None:
    """The number of a corpus and its state; None if there is none.

    Parameters
    ----------
    connection : connection to read with
    corpus : name of the corpus
    """
    row = connection.execute("SELECT c, version, stamp FROM corpus WHERE name = ?", (corpus,)).fetchone()
    return None if row is None else (row[0], State(row[1], row[2]))


def steps(connection: sqlite3.Connection, c: int, *, to: State, after: int = -1, data: str = "list") -> list[Step]:
    """The steps that lead to a state without a gap, the oldest first; each has its list.

    Parameters
    ----------
    connection : connection to read with
    c : number of the corpus
    to : the present state
    after : version before which no step is wanted
    data : SQL expression for the data of a step
    """
    rows = connection.execute(
        f"SELECT version, before, stamp, {data} FROM image_change WHERE c = ? AND version > ? ORDER BY version DESC",
        (c, after),
    )
    return leading_to(to, (Step(State(row[0] - 1, row[1]), State(row[0], row[2]), row[3]) for row in rows))


def altered(connection: sqlite3.Connection, c: int, *, before: State, to: State) -> frozenset[str] | None:
    """The ids of the sources that were altered between two states, and of all records that vanished; None: it is not known.

    Parameters
    ----------
    connection : connection to read with
    c : number of the corpus
    before, to : the states; ``to`` is the present one
    """
    steps_between = steps(connection, c, to=to, after=before.version) if before.version < to.version else []
    return touched_since(before, steps_between)


def altered_sources(connection: sqlite3.Connection, corpus: str, *, since: str) -> Altered:
    """See :meth:`hlgraph.stores.protocols.GraphStore.altered`.

    Parameters
    ----------
    connection : connection to read with
    corpus : name of the corpus
    since : name of the state
    """
    state, before = state_of(connection, corpus), State.named(since)
    if state is None:
        return Altered("", None)
    c, now = state
    is_past = before is not None and before.version < now.version
    between = steps(connection, c, to=now, after=before.version) if before is not None and is_past else []
    return altered_since(since, between, to=now)


def bases(connection: sqlite3.Connection) -> set[tuple[int, State]]:
    """The states whose images are of use: number and present state of each corpus that is not empty, and the states before it
    from which lists lead to it.

    Parameters
    ----------
    connection : connection to read with
    """
    states = set()
    rows = connection.execute(
        "SELECT c, version, stamp FROM corpus WHERE EXISTS (SELECT 1 FROM node WHERE node.c = corpus.c)"
    )
    for c, version, stamp in rows.fetchall():
        present = State(version, stamp)
        listed_steps = steps(connection, c, to=present, data="substr(list, 1, 1)")
        states |= {(c, present), *((c, step.before) for step in listed_steps)}
    return states
