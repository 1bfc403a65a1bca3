"""Reads records by id, and keeps those that were read in the present state of a corpus.

A reader names the state of the corpus that its first round trip found; see :class:`hlgraph.stores.kept.KeptRecords`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hlgraph.records import Kind, Record
from hlgraph.stores.kept import KeptRecords
from hlgraph.stores.neo4j.image_changes import ReadSteps, State
from hlgraph.stores.neo4j.rows import PLURAL, records
from hlgraph.stores.neo4j.server import BATCH, Server


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
        self._kept = KeptRecords[str](PLURAL, altered=self._altered, is_older=_is_older)

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
        found = self._kept.get(kind, wanted, corpus=corpus, state=state) if state else {}
        missing = [item for item in wanted if item not in found]
        for start in range(0, len(missing), BATCH):
            found |= self._asked(kind, missing[start : start + BATCH], corpus=corpus, state=state)
        return [found[item] for item in wanted if item in found]

    def _altered(self, corpus: str, before: str, to: str) -> frozenset[str] | None:
        a, b = State.named(before), State.named(to)
        return None if a is None or b is None else self._steps.touched(corpus, before=a, to=b)

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
        if state:
            self._kept.keep(kind, found, corpus=corpus, state=state)


def _is_older(state: str, other: str) -> bool:
    a, b = State.named(state), State.named(other)
    return a is not None and b is not None and a.version < b.version
