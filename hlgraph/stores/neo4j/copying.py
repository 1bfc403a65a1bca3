"""Reads a corpus of Neo4j in pieces of bounded size, for an export, and writes an imported one, hidden until it is complete.

An import is too large for one transaction of a server. Its ``Corpus`` node has the property ``arriving``, and the queries that
look for corpora leave such nodes out. Each change is one transaction, which also counts the changes written, so a repeated
import continues behind the last one. An entry in the journal makes any other writer of the corpus remove the import first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from hlgraph.change import About, Change, FactRow, MentionLink, Placement, Support, Synonym
from hlgraph.errors import StoreError
from hlgraph.records import Chunk, Kind, Source, Statement, Topic
from hlgraph.stores.batches import batched
from hlgraph.stores.bulk_copies import Arrival, Copies, CorpusReader, CorpusWriter, NamedEntity, check_counts
from hlgraph.stores.concurrency import side_by_side
from hlgraph.stores.neo4j import journal
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.publish import publish
from hlgraph.stores.neo4j.rows import records
from hlgraph.stores.neo4j.server import BATCH, Row, Server, Transaction

_SOURCES, _CHUNKS = 500, 500
"""Numbers of sources and chunks that are read together; a larger source is read alone."""
_NAMED = 50
"""Number of sources that are read together by their ids."""
_DROPPED = 2_000
"""Records of each kind that one transaction deletes."""


class Neo4jCorpusReader(CorpusReader):
    """One corpus of a database.

    Parameters
    ----------
    server : the database
    corpus : name of the corpus
    """

    def __init__(self, server: Server, corpus: str) -> None:
        self._server = server
        self._corpus = corpus

    def sources(self, *, has_facts: bool = True, among: Sequence[str] | None = None) -> Iterator[Change]:
        """See :meth:`CorpusReader.sources`."""
        for some in batched(sorted(among or ()), _NAMED):
            yield self._server.read(lambda transaction, ids=tuple(some): self._slice(transaction, ids, has_facts))  # type: ignore[misc]
        if among is not None:
            return
        names: list[str] = []
        chunks = 0
        for row in chain.from_iterable(self._server.pages("persist/copy_sources", corpus=self._corpus, size=BATCH)):
            if names and (chunks + row["chunks"] > _CHUNKS or len(names) == _SOURCES):
                yield self._server.read(lambda transaction, ids=tuple(names): self._slice(transaction, ids, has_facts))  # type: ignore[misc]
                names, chunks = [], 0
            names.append(row["id"])
            chunks += row["chunks"]
        if names:
            yield self._server.read(lambda transaction: self._slice(transaction, names, has_facts))

    def _slice(self, transaction: Transaction, sources: Sequence[str], has_facts: bool) -> Change:
        of_sources = {"lists": {"ids": list(sources)}, "corpus": self._corpus}
        described = records(Kind.SOURCE, transaction.rows("retrieve/read_sources", **of_sources))
        chunks, topics, statements = (
            transaction.collect(name, sources, key="source_ids")
            for name in ("persist/copy_chunks", "persist/copy_topics", "persist/copy_statements")
        )
        namings = chain.from_iterable(_each(topics, "namings"))
        abouts = chain.from_iterable(_each(statements, "abouts"))
        mentions = chain.from_iterable(_each(statements, "mentions"))
        supports = list(chain.from_iterable(_each(statements, "supports")))
        facts = sorted({fact for _, fact, _ in supports}) if has_facts else []
        return Change(
            "",
            self._corpus,
            sources=tuple(record for record in described.values() if isinstance(record, Source)),
            chunks=tuple(Chunk(*(*row[:7], tuple(row[7] or ()), *row[8:])) for row in _each(chunks, "records")),
            topics=tuple(Topic(*row) for row in _each(topics, "records")),
            statements=tuple(Statement(*row) for row in _each(statements, "records")),
            placements=tuple(
                Placement(*(*row[:5], tuple(row[5] or ()))) for row in chain.from_iterable(_each(statements, "places"))
            ),
            abouts=tuple(About(chunk, "", topic, name) for chunk, topic, name in namings)
            + tuple(About(chunk, name, topic) for name, topic, asserting in abouts for chunk in asserting),
            mentions=tuple(
                MentionLink(chunk, name, entity, surface, kind)
                for name, entity, *lists in mentions
                for chunk, surface, kind in zip(*lists, strict=True)
            ),
            supports=tuple(Support(chunk, name, fact) for name, fact, asserting in supports for chunk in asserting),
            facts=tuple(FactRow(*row) for row in _each(transaction.collect("persist/copy_facts", facts), "records")),
        )

    def entities(self) -> Iterator[list[NamedEntity]]:
        """See :meth:`CorpusReader.entities`."""
        for page in self._server.pages("persist/copy_entities", corpus=self._corpus, size=BATCH):
            yield [NamedEntity(row["id"], row["name"], row["kind"], ()) for row in page]

    def synonyms(self) -> Iterator[list[Synonym]]:
        """See :meth:`CorpusReader.synonyms`."""
        for entities in self.entities():
            rows = self._server.ask("persist/copy_synonyms", ids=[entity.id for entity in entities])
            yield [Synonym(**row) for row in rows]


def _each(rows: Sequence[Row], column: str) -> Iterator[list[Any]]:
    return chain.from_iterable(row[column] for row in rows)


class Neo4jCorpusWriter(CorpusWriter):
    """Writes a hidden corpus of a database.

    Parameters
    ----------
    server : the database
    leases : the write leases of this process
    arrival : the corpus
    """

    def __init__(self, server: Server, leases: Leases, *, arrival: Arrival) -> None:
        self._server = server
        self._leases = leases
        self._arrival = arrival

    def is_there(self) -> bool:
        """See :meth:`CorpusWriter.is_there`."""
        rows = self._server.ask("retrieve/read_state", corpus=self._arrival.corpus)
        return any((row["stamp"] or "").startswith(self._arrival.mark) for row in rows)

    def begin(self) -> int:
        """See :meth:`CorpusWriter.begin`."""
        arrival = self._arrival

        def work(transaction: Transaction) -> int:
            self._leases.check(transaction, arrival.corpus)
            if not transaction.rows("persist/find_change", id=arrival.id):
                journal.record(transaction, Change(arrival.id, arrival.corpus, part_count=1, is_arrival=True))
            values = {"name": arrival.corpus, "arrival": arrival.id, "ids": arrival.ids, "version": arrival.version}
            transaction.rows("persist/hide_corpus", **values)
            return self._state(transaction)["arrived"]  # type: ignore[no-any-return]

        return self._server.write(work, is_repeatable=True)

    def write(self, change: Change, place: int, *, beside: Callable[[], object] = tuple) -> None:
        """See :meth:`CorpusWriter.write`."""

        def work(transaction: Transaction, finished: Callable[[], object]) -> None:
            self._leases.check(transaction, change.corpus)
            if self._state(transaction)["arrived"] == place:  # else it is committed
                publish(transaction, change)
                transaction.rows("persist/mark_arrival", name=change.corpus, arrived=place + 1)
            finished()
            self._leases.check(transaction)

        with side_by_side(beside) as finished:
            self._server.write(lambda transaction: work(transaction, finished), is_repeatable=True)

    def version(self) -> int:
        """See :meth:`CorpusWriter.version`."""
        return self._server.read(lambda transaction: int(self._state(transaction)["version"]))

    def _state(self, transaction: Transaction) -> Row:
        for row in transaction.rows("persist/read_arrival", name=self._arrival.corpus):
            if row["arriving"] == self._arrival.id:
                return row
        raise StoreError(
            f"corpus {self._arrival.corpus!r}: the part of it that was imported is gone; run the same command again"
        )

    def reveal(self, records: Mapping[Kind, int]) -> None:
        """See :meth:`CorpusWriter.reveal`."""
        arrival = self._arrival
        rows = self._server.ask("admin/count_records", corpus=arrival.corpus)
        check_counts(arrival.corpus, wanted=records, present={Kind(row["kind"]): row["number"] for row in rows})
        packed = None if arrival.calibration is None else msgspec.json.encode(arrival.calibration).decode()
        state = {"stamp": arrival.new_mark(), "calibration": packed}

        def work(transaction: Transaction) -> None:
            self._leases.check(transaction, arrival.corpus)
            transaction.rows("persist/reveal_corpus", name=arrival.corpus, **state)
            if arrival.domain is not None:
                transaction.rows("index/merge_domain", corpus=arrival.corpus, **msgspec.to_builtins(arrival.domain))
            journal.forget(transaction, arrival.id)

        self._server.write(work, is_repeatable=True)


class Neo4jCopies(Copies):
    """Whole corpora of one database.

    Parameters
    ----------
    server : the database
    leases : the write leases of this process
    dropped : called after a corpus was removed
    """

    def __init__(self, server: Server, leases: Leases, *, dropped: Callable[[], object] = tuple) -> None:
        self._server = server
        self._leases = leases
        self._dropped = dropped

    def reader(self, corpus: str) -> Neo4jCorpusReader:
        """See :meth:`Copies.reader`."""
        return Neo4jCorpusReader(self._server, corpus)

    def writer(self, arrival: Arrival) -> Neo4jCorpusWriter:
        """See :meth:`Copies.writer`."""
        return Neo4jCorpusWriter(self._server, self._leases, arrival=arrival)

    def drop(self, corpus: str) -> None:
        """See :meth:`Copies.drop`."""
        size = {"name": corpus, "size": _DROPPED}
        while any(
            row["dropped"]
            for row in self._leases.write(lambda transaction: transaction.rows("persist/drop_arrival", **size))
        ):
            pass
        self._leases.write(lambda transaction: transaction.rows("persist/forget_arrival", name=corpus))
        self._dropped()

    def names(self) -> tuple[str, ...]:
        """See :meth:`Copies.names`."""
        return tuple(row["name"] for row in self._server.ask("admin/list_names"))
