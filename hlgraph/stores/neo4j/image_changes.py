"""The change lists of a corpus: each version records how it changed the graph, and images are patched from these lists.

A list leads from one state of a corpus to the next. A state is a version with a unique stamp, so a list never
fits the image of a database that was restored or emptied. A writer of an older hlgraph writes no list; after such a gap, images
are built again.
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
    altered_since,
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
from hlgraph.stores.protocols import Altered

_MOST_HELD = 1 << 20
"""Maximum size in bytes of the cached lists of a corpus."""


def state_of(row: Row) -> State:
    """The state in a row that was read."""
    return State(row["version"], row["stamp"] or "")


def record(
    transaction: Transaction, change: Change, *, old: Iterable[str], vanished: Mapping[str, Sequence[str]]
) -> None:
    """Record the list of a change that has just raised the version of its corpus.

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
        data = pack(explained(listed(change, stored), old=old))
    transaction.rows("persist/record_image_change", name=change.corpus, list=data, kept=KEPT)


def leads_on(transaction: Transaction, change: Change, *, vanished: Mapping[str, Sequence[str]]) -> bool:
    """Whether images of the previous version can be patched after a change: the change has a list, and the corpus has sources.

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
    """Raise the version of a corpus, and record the list of its merged entities.

    Parameters
    ----------
    transaction : the writing transaction
    corpus : name of the corpus
    cut : pairs that are no longer merged, in either direction
    added : newly merged pairs: the alias and the canonical entity
    """
    transaction.rows("index/raise_version", name=corpus)
    data = pack(merged(cut=cut, added=added))
    transaction.rows("persist/record_image_change", name=corpus, list=data, kept=KEPT)


def record_rebinding(transaction: Transaction, corpus: str) -> None:
    """Record that all synonyms of a corpus were replaced in its new version; images of it are filled again.

    Parameters
    ----------
    transaction : the writing transaction
    corpus : name of the corpus
    """
    transaction.rows("persist/record_image_change", name=corpus, list=b"", kept=KEPT)


class ReadSteps:
    """Reads the change lists of one database, and caches the latest of each corpus. Thread-safe.

    Parameters
    ----------
    server : the database
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._held: dict[str, tuple[int, State, list[Step]]] = {}

    def lead_to(self, corpus: str, *, after: int, to: State) -> list[Step]:
        """The contiguous steps that lead to a state, the oldest first, each with its list.

        Parameters
        ----------
        corpus : name of the corpus
        after : version before which steps are left out
        to : a present or past state of the corpus
        """
        since, state, steps = self._held.get(corpus, (0, None, []))
        if state != to or since > after:
            steps = self._read(corpus, after=after, to=to)
            if sum(len(item.data) for item in steps) <= _MOST_HELD:
                self._held[corpus] = after, to, steps
        return [item for item in steps if item.before.version >= after]

    def touched(self, corpus: str, *, before: State, to: State) -> frozenset[str] | None:
        """The ids of the sources changed, and of the records removed, between two states; None if unknown.

        Parameters
        ----------
        corpus : name of the corpus
        before, to : the states
        """
        steps = self.lead_to(corpus, after=before.version, to=to) if before.version < to.version else []
        return touched_since(before, steps)

    def altered(self, corpus: str, since: str, *, to: State) -> Altered:
        """See :meth:`hlgraph.stores.protocols.GraphStore.altered`.

        Parameters
        ----------
        corpus : name of the corpus
        since : name of the state
        to : the present state
        """
        before = State.named(since)
        is_past = before is not None and before.version < to.version
        steps = self.lead_to(corpus, after=before.version, to=to) if before is not None and is_past else []
        return altered_since(since, steps, to=to)

    def _read(self, corpus: str, *, after: int, to: State) -> list[Step]:
        rows = self._server.ask("retrieve/read_image_changes", corpus=corpus, after=after)
        steps = (
            Step(
                State(row["version"] - 1, row["before"]), State(row["version"], row["stamp"]), bytes(row["list"] or b"")
            )
            for row in reversed(rows)
        )
        return leading_to(to, steps)
