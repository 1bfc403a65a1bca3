"""The change lists of a corpus: each version records what it changed in the graph, and images are patched by these lists.

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
    explained,
    is_listed,
    leading_to,
    listed,
    merged,
    pack,
    shared,
    touched_since,
)
from hlgraph.stores.neo4j.server import Row, Server, Transaction

_MOST_HELD = 1 << 20
"""Maximum size in bytes of the lists of a corpus that are kept after they were read."""


def state_of(row: Row) -> State:
    """The state in a row that was read."""
    return State(row["version"], row["stamp"] or "")


def record(
    transaction: Transaction, change: Change, *, old: Iterable[str], vanished: Mapping[str, Sequence[str]]
) -> None:
    """List a change that has just given its corpus the next version.

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
            (Asserted(row["id"], row["topic_ids"], row["entity_ids"], row["fact_ids"]) for row in statements),
            ((row["id"], row["next_id"]) for row in chunks),
            map(Synonym._make, change.synonyms),
        )
        data = pack(explained(listed(change, stored), old=old, vanished=vanished))
    transaction.rows("persist/record_image_change", name=change.corpus, list=data, kept=KEPT)


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
    """Give a corpus its next version, and list which entities are merged.

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
    """Reads the steps of the corpora of one database, and caches the last ones of each corpus. Thread-safe.

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
        steps = (
            Step(
                State(row["version"] - 1, row["before"]), State(row["version"], row["stamp"]), bytes(row["list"] or b"")
            )
            for row in reversed(rows)
        )
        return leading_to(to, steps)
