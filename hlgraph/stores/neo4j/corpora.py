"""What the corpora of a database hold, as it was read last: versions, models, counts and fields."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from hlgraph.records import Calibration, Relationship
from hlgraph.stores import migrate
from hlgraph.stores.image.image import FOLLOWED
from hlgraph.stores.neo4j.fields import Fields
from hlgraph.stores.neo4j.image_changes import State
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import Row, Server
from hlgraph.stores.protocols import CorpusStats

COUNTED = tuple(kind for kind in Relationship if kind in FOLLOWED - {Relationship.NEXT, Relationship.CO_OCCURS})
"""The relationships that statistics count: those that are stored."""


class Corpora:
    """The corpora of a database; counts and fields are read once a state. Thread-safe.

    Parameters
    ----------
    server : the database
    images : images of its corpora, which count without a query; None: there are none
    on_migrated : called where the newest migration of the database is another than that of this program
    """

    def __init__(self, server: Server, images: Images | None, *, on_migrated: Callable[[], object]) -> None:
        self._server = server
        self._images = images
        self._on_migrated = on_migrated
        self._newest = migrate.discover("neo4j")[-1].version
        self._held: dict[str, CorpusStats] = {}
        self._known: dict[str, CorpusStats | None] = {}

    def stats(
        self, corpus: str | None, *, rows: Sequence[Row], has_counts: bool, has_relationships: bool
    ) -> tuple[CorpusStats, ...]:
        """See :meth:`hlgraph.stores.protocols.GraphStore.stats`.

        Parameters
        ----------
        corpus : name of the corpus; None: all
        rows : the rows of ``retrieve/open_corpus``; empty: the corpus is read, or all of them
        has_counts, has_relationships : what to count
        """
        found = tuple(
            replace(
                self._stats(row, has_counts=has_counts, has_relationships=has_relationships),
                pending=_texts(row["staged"]),
                renewed_to=None if row["renewed_to"] is None else str(row["renewed_to"]),
                calibration=_calibration(row),
                state=State.of(row).name,
                ids=whole(row, "ids"),
                co_occurs=None if row["co_occurs"] is None else whole(row, "co_occurs"),
            )
            for row in rows or self._read(corpus)
        )
        if corpus is not None and not has_counts:
            self._known = {**self._known, corpus: found[0] if found else None}
        return found

    def _read(self, corpus: str | None) -> list[Row]:
        if corpus is None:
            rows = self._server.ask("persist/read_corpora")
        else:
            rows = self._server.ask("persist/read_corpus", corpus=corpus)
        if any(row["newest"] != self._newest for row in rows):
            self._on_migrated()
        return rows

    def known(self, corpus: str) -> CorpusStats | None:
        """See :meth:`hlgraph.stores.ranking.Remembers.known`."""
        return self._known.get(corpus)

    def forget(self) -> None:
        """Forgets the states that searches would start from, because this process has changed a corpus."""
        self._known = {}

    def _stats(self, row: Row, *, has_counts: bool, has_relationships: bool) -> CorpusStats:
        name, version, state = str(row["name"]), whole(row, "version"), State.of(row).name
        held = self._held.get(name)
        if held is None or (held.version, held.state) != (version, state):
            read = functools.partial(self._server.ask, "admin/list_fields", corpus=name)
            fields = Fields((lambda: maps(row["fields"])) if "fields" in row else read)
            held = CorpusStats(
                name, version, str(row["embedding"]), whole(row, "dimensions"), fields=fields, state=state
            )
        if has_counts and not held.records:
            there = self._images.held(name, state) if self._images is not None else None
            counts = (
                self._counts("admin/count_records", name, column="kind") if there is None else there.image.records()
            )
            held = replace(held, records={kind: counts.get(kind.value, 0) for kind in PLURAL})
        if has_counts and has_relationships and not held.relationships:
            counts = self._counts("admin/count_relationships", name, column="relationship")
            held = replace(held, relationships={kind: counts.get(kind.value, 0) for kind in COUNTED})
        self._held[name] = held
        return replace(held, fields=dict(held.fields)) if has_counts else held

    def _counts(self, query: str, corpus: str, *, column: str) -> dict[str, int]:
        return {str(row[column]): whole(row, "number") for row in self._server.ask(query, corpus=corpus)}


def maps(value: object) -> list[Row]:
    """A list of maps that the server sent."""
    return list(value) if isinstance(value, list) else []


def _calibration(row: Row) -> Calibration | None:
    found = row["calibration"]
    return None if found is None else msgspec.json.decode(str(found), type=Calibration)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
