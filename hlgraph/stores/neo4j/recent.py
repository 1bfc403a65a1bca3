"""Reads records by id, and keeps those that were read in the present state of a corpus.

A reader names the state of the corpus that its first round trip found. What is kept belongs to one state a corpus, and is
dropped when a reader names another one: no reader sees the text of a source that was deleted before the read began.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hlgraph.records import Kind, Record, Source
from hlgraph.stores.kept import Kept
from hlgraph.stores.neo4j.rows import PLURAL, records
from hlgraph.stores.neo4j.server import BATCH, Server

KEPT_CHARACTERS = 1 << 22
"""Target for the size of the kept records of each kind, as in the embedded store."""
_OVERHEAD = 300  # characters that a record takes beside its text

_Key: TypeAlias = tuple[str, str, str]  # corpus, state, id


class RecentRecords:
    """The records of one database by id. Thread-safe.

    Parameters
    ----------
    server : the database
    """

    def __init__(self, server: Server) -> None:
        self._server = server
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
        found: dict[str, Record] = {}
        if state:
            self._enter(corpus, state)
            kept = self._kept[kind].get((corpus, state, item) for item in wanted)
            found = {key[2]: record for key, record in kept.items()}
        missing = [item for item in wanted if item not in found]
        for start in range(0, len(missing), BATCH):
            found |= self._asked(kind, missing[start : start + BATCH], corpus=corpus, state=state)
        return [found[item] for item in wanted if item in found]

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
        if state and self._states.get(corpus) == state:
            self._kept[kind].keep({(corpus, state, item): record for item, record in found.items()})

    def _enter(self, corpus: str, state: str) -> None:
        """Drops what is kept of a corpus in another state."""
        with self._guard:
            if self._states.get(corpus) == state:
                return
            self._states[corpus] = state
            for kept in self._kept.values():
                kept.drop(lambda key: key[0] == corpus)


def _size(record: Record) -> int:
    metadata = len(str(record.metadata)) if isinstance(record, Source) else 0
    return _OVERHEAD + metadata + len(getattr(record, "text", ""))
