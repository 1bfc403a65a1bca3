"""The lists of what changes did to the graph, beside each corpus: one is recorded with each version, and read to patch an image.

A list leads from one state of a corpus to the next. A state is a version and a stamp, which no other state has, so a list never
fits the image of a database that was restored or emptied. A writer that knows no lists leaves a gap, and images are filled anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hlgraph.change import Change, Synonym
from hlgraph.records import Kind
from hlgraph.stores.image.patching import (
    KEPT,
    Asserted,
    ChangeList,
    Stored,
    edited,
    is_listed,
    listed,
    merged,
    pack,
    shared,
    touched,
    unpack,
)
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Row, Server, Transaction

_MOST_HELD = 1 << 20
"""Maximum size in bytes of the lists of a corpus that are kept after they were read."""


class State(NamedTuple):
    """The state of a corpus; ``stamp`` is empty where a hlgraph without images wrote it last."""

    version: int
    stamp: str

    @classmethod
    def of(cls, row: Row) -> State:
        """The state in a row that was read."""
        return cls(whole(row, "version"), str(row["stamp"] or ""))

    @classmethod
    def named(cls, name: str) -> State | None:
        """The state with a name; None for an empty one."""
        version, _, stamp = name.partition("-")
        return cls(int(version), stamp) if stamp and version.isdecimal() else None

    @property
    def name(self) -> str:
        """See :attr:`CorpusStats.state`."""
        return f"{self.version}-{self.stamp}" if self.stamp else ""


class Step(NamedTuple):
    """From one state to the next."""

    before: State
    after: State
    data: bytes

    def change(self) -> ChangeList:
        """The list of the change between them."""
        return unpack(self.data)


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
        since, state, held = self._held.get(corpus, (0, None, []))
        if state != to or since > after:
            held = self._read(corpus, after=after, to=to)
            if sum(len(item.data) for item in held) <= _MOST_HELD:
                self._held[corpus] = after, to, held
        return [item for item in held if item.before.version >= after]

    def touched(self, corpus: str, *, before: State, to: State) -> frozenset[str] | None:
        """The ids of the sources that were altered between two states, and of all records that vanished; None: it is not known.

        Parameters
        ----------
        corpus : name of the corpus
        before, to : the states
        """
        found = self.lead_to(corpus, after=before.version, to=to) if before.version < to.version else []
        if not found or found[0].before != before:
            return None
        return frozenset[str]().union(*(touched(item.change()) for item in found))

    def _read(self, corpus: str, *, after: int, to: State) -> list[Step]:
        found: list[Step] = []
        for row in reversed(self._server.ask("retrieve/read_image_changes", corpus=corpus, after=after)):
            step = _step(row)
            if step.after.version > to.version:
                continue  # the corpus has changed again
            if step.after != to or not step.data:
                break
            found.append(step)
            to = step.before
        return found[::-1]


def _step(row: Row) -> Step:
    version, data = whole(row, "version"), row["list"]
    return Step(
        State(version - 1, str(row["before"])),
        State(version, str(row["stamp"])),
        bytes(data) if isinstance(data, bytes | bytearray) else b"",
    )


def _texts(row: Row, name: str) -> list[str]:
    found = row[name]
    return [str(item) for item in found] if isinstance(found, list) else []
