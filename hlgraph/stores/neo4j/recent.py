"""Reads records by id, and keeps those that were read in the present state of a corpus.

A reader names the state of the corpus that its first round trip found. What is kept belongs to one state a corpus. When a reader
names a later one, the lists of the changes between both say which sources were altered: their records are dropped, and so are
those of no single source, such as entities. Where no lists lead from one state to the other, all are dropped. No reader sees the
text of a source that was deleted before the read began.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hlgraph.records import Chunk, Kind, Record, Source, Statement, Topic
from hlgraph.stores.kept import Kept
from hlgraph.stores.neo4j.image_changes import ReadSteps, State
from hlgraph.stores.neo4j.rows import PLURAL, records
from hlgraph.stores.neo4j.server import BATCH, Server

KEPT_CHARACTERS = 1 << 22
"""Target for the size of the kept records of each kind, as in the embedded store."""
_OVERHEAD = 300  # characters that a record takes beside its text

_Key: TypeAlias = tuple[str, str]  # corpus, id


class RecentRecords:
    """The records of one database by id. Thread-safe.

    Parameters
    ----------
    server : the database
    steps : reads what changes did
    """

    def __init__(self, server: Server, *, steps: ReadSteps) -> None:
        self._server = server
        self._steps = steps
        self._kept = {kind: Kept[_Key, Record](most=KEPT_CHARACTERS, size=_size) for kind in PLURAL}
        self._states: dict[str, str] = {}
        self._guard = threading.Lock()

    def read(self, kind: Kind, ids: Sequence[str], *, corpus: str, state: str) -> list[Record]:
        """The visible records with these ids, in their order; unknown ids are left out.

        Parameters
        ----------
        kind : kind of the records
        ids : ids of the records
        corpus : name of the corpus
        state : state of the corpus that the caller reads; empty: ask the server for every record
        """
        wanted = list(dict.fromkeys(ids))
        found = self._held(kind, wanted, corpus=corpus, state=state) if state else {}
        missing = [item for item in wanted if item not in found]
        for start in range(0, len(missing), BATCH):
            found |= self._asked(kind, missing[start : start + BATCH], corpus=corpus, state=state)
        return [found[item] for item in wanted if item in found]

    def _held(self, kind: Kind, ids: Sequence[str], *, corpus: str, state: str) -> dict[str, Record]:
        """What is kept of these records in this state, which becomes that of the corpus."""
        before = self._states.get(corpus)
        altered = self._altered(corpus, before, state) if before not in (None, state) else None
        with self._guard:
            held = self._states.get(corpus)
            if held != state:
                self._drop(corpus, altered if held == before else None)
                self._states[corpus] = state
            kept = self._kept[kind].get((corpus, item) for item in ids)
        return {name: record for (_, name), record in kept.items()}

    def _altered(self, corpus: str, before: str | None, to: str) -> frozenset[str] | None:
        """The sources whose records are not the same in two states; None: it is not known."""
        a, b = State.named(before or ""), State.named(to)
        return None if a is None or b is None else self._steps.touched(corpus, before=a, to=b)

    def _drop(self, corpus: str, altered: frozenset[str] | None) -> None:
        def is_dropped(key: _Key, record: Record) -> bool:
            return key[0] == corpus and (altered is None or not (of := _source_of(record)) or of in altered)

        for kept in self._kept.values():
            kept.drop(is_dropped)

    def _asked(self, kind: Kind, ids: Sequence[str], *, corpus: str, state: str) -> Mapping[str, Record]:
        is_passage = kind is Kind.CHUNK and bool(state)
        query = "retrieve/read_passages" if is_passage else f"retrieve/read_{PLURAL[kind]}"
        rows = self._server.ask(query, lists={"ids": ids}, corpus=corpus)  # a map: see pull.py
        found = records(kind, rows)
        if is_passage:
            sources = records(Kind.SOURCE, [{"records": row["sources"]} for row in rows])
            self._keep(Kind.SOURCE, sources, corpus=corpus, state=state)
        self._keep(kind, found, corpus=corpus, state=state)
        return found

    def _keep(self, kind: Kind, found: Mapping[str, Record], *, corpus: str, state: str) -> None:
        with self._guard:
            if state and self._states.get(corpus) == state:
                self._kept[kind].keep({(corpus, item): record for item, record in found.items()})


def _source_of(record: Record) -> str:
    """The only source that a change must name to alter this record; empty: others can alter it."""
    if isinstance(record, Source):
        return record.id
    return record.source_id if isinstance(record, Chunk | Topic | Statement) else ""


def _size(record: Record) -> int:
    metadata = len(str(record.metadata)) if isinstance(record, Source) else 0
    return _OVERHEAD + metadata + len(getattr(record, "text", ""))
