"""The lists of what changes did to the graph, beside each corpus: one is recorded with each version, and read to patch an image.

A list leads from one state of a corpus to the next. A state is a version and a stamp, which no other state has, so a list never
fits the image of a database that was restored or emptied. A writer that knows no lists leaves a gap, and images are filled anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hlgraph.change import Change, Synonym
from hlgraph.records import Kind
from hlgraph.stores.image.patching import (
    KEPT,
    Asserted,
    State,
    Step,
    Stored,
    edited,
    is_listed,
    leading_to,
    listed,
    merged,
    pack,
    shared,
    touched_since,
)
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Row, Server, Transaction

_MOST_HELD = 1 << 20
"""Maximum size in bytes of the lists of a corpus that are kept after they were read."""


def state_of(row: Row) -> State:
    """The state in a row that was read."""
    return State(whole(row, "version"), str(row["stamp"] or ""))


def record(
    transaction: Transaction, change: Change, *, old: Iterable[str], vanished: Mapping[str, Sequence[str]]
) -> None:
    """Lists a change that has just given its corpus the next version.

    Parameters
    ----------
    transaction : the writing transaction
    change : the change, which is applied
    old : ids of the statements that its chunks asserted before
    vanished : ids of the records that vanished, by kind
    """
    data = b""
    if is_listed(change, vanished):
        statements = transaction.collect("persist/list_links", shared(change, old=old, vanished=vanished))
        sources = edited(change, removed=vanished.get(Kind.CHUNK.value, ()))
        chunks = transaction.collect("persist/list_next_chunks", sources, key="source_ids")
        stored = Stored(
            vanished,
            (Asserted(str(row["id"]), *(_texts(row, f"{name}_ids") for name in _ENDS)) for row in statements),
            ((str(row["id"]), None if row["next_id"] is None else str(row["next_id"])) for row in chunks),
            map(Synonym._make, change.synonyms),
        )
        data = pack(listed(change, stored))
    transaction.rows("persist/record_image_change", name=change.corpus, list=data, kept=KEPT)


_ENDS = ("topic", "entity", "fact")


def leads_on(transaction: Transaction, change: Change, *, vanished: Mapping[str, Sequence[str]]) -> bool:
    """Whether images of the version before a change are of use after it: it is listed, and the corpus has sources.

    Parameters
    ----------
    transaction : the writing transaction, in which the change is applied
    change : the change
    vanished : ids of the records that vanished, by kind
    """
    return is_listed(change, vanished) and bool(
        transaction.rows("retrieve/page_sources", corpus=change.corpus, after="", size=1)
    )


def record_merges(
    transaction: Transaction, corpus: str, *, cut: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]
) -> None:
    """Gives a corpus its next version, and lists which entities are merged.

    Parameters
    ----------
    transaction : the writing transaction
    corpus : name of the corpus
    cut : pairs that are merged no more, in either direction
    added : pairs that are merged: the alias and the canonical entity
    """
    transaction.rows("index/raise_version", name=corpus)
    data = pack(merged(cut=cut, added=added))
    transaction.rows("persist/record_image_change", name=corpus, list=data, kept=KEPT)


class ReadSteps:
    """Reads the steps of the corpora of one database; keeps those of each corpus that were read last. Thread-safe.

    Parameters
    ----------
    server : the database
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._held: dict[str, tuple[int, State, list[Step]]] = {}

    def lead_to(self, corpus: str, *, after: int, to: State) -> list[Step]:
        """The steps that lead to a state without a gap, the oldest first; each has its list.

        Parameters
        ----------
        corpus : name of the corpus
        after : version before which no step is wanted
        to : the state, which the corpus has or has had
        """
        since, state, steps = self._held.get(corpus, (0, None, []))
        if state != to or since > after:
            steps = self._read(corpus, after=after, to=to)
            if sum(len(item.data) for item in steps) <= _MOST_HELD:
                self._held[corpus] = after, to, steps
        return [item for item in steps if item.before.version >= after]

    def touched(self, corpus: str, *, before: State, to: State) -> frozenset[str] | None:
        """The ids of the sources that were altered between two states, and of all records that vanished; None: it is not known.

        Parameters
        ----------
        corpus : name of the corpus
        before, to : the states
        """
        steps = self.lead_to(corpus, after=before.version, to=to) if before.version < to.version else []
        return touched_since(before, steps)

    def _read(self, corpus: str, *, after: int, to: State) -> list[Step]:
        rows = self._server.ask("retrieve/read_image_changes", corpus=corpus, after=after)
        return leading_to(to, map(_step, reversed(rows)))


def _step(row: Row) -> Step:
    version, data = whole(row, "version"), row["list"]
    return Step(
        State(version - 1, str(row["before"])),
        State(version, str(row["stamp"])),
        bytes(data) if isinstance(data, bytes | bytearray) else b"",
    )


def _texts(row: Row, name: str) -> list[str]:
    values = row[name]
    return [str(item) for item in values] if isinstance(values, list) else []
