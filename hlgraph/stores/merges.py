"""Decisions that two entities of a corpus are the same, or are not, and the protocol of the store that keeps them.

A merge never changes extracted data: entities, statements and facts stay as they are. A decision is a relationship between
two entities (SAME_AS, or JUDGED when they were not merged), and every read applies it. Undoing a merge therefore only
removes the relationship, and a later ingest that mentions an alias finds it merged. A decision is deleted together with
the first of its two entities.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from hlgraph.algorithms.merging import Groups
from hlgraph.ids import content_id

Aliases = Mapping[str, tuple[str, ...]]
"""The group of each merged entity, by its id: the ids of all entities of the group, itself included, ascending."""


class Verdict(StrEnum):
    """What was decided: the same, different, or judged the same but held back because another decision contradicts it."""

    SAME = "same"
    DIFFERENT = "different"
    OPEN = "open"


class Decider(StrEnum):
    """Who decided."""

    PERSON = "person"
    RULE = "rule"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about two entities.

    Attributes
    ----------
    alias, canonical : ids; the merged entity takes its name from the second. Without a merge the order has no meaning
    by : person, rule or model
    made_by : the rule, the prompt and model, or the name of the person
    why : the evidence in a few words, never the words of a document
    score : cosine of the two names; 0 if it was not computed
    at : time of the decision, ISO 8601 in UTC
    """

    corpus: str
    alias: str
    canonical: str
    verdict: Verdict
    by: Decider
    made_by: str = ""
    why: str = ""
    score: float = 0.0
    at: str = ""

    @property
    def id(self) -> str:
        """The same id for both orders of the pair, so that a later decision replaces the earlier one."""
        return content_id("merge", self.corpus, *self.pair)

    @property
    def pair(self) -> tuple[str, str]:
        """Both ids, ascending."""
        return min(self.alias, self.canonical), max(self.alias, self.canonical)


class MergeStore(Protocol):
    """Decisions about the entities of a corpus. Saving or dropping one raises the version of the corpus."""

    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """All decisions of a corpus, by id."""

    def aliases(self, corpus: str, *, version: int) -> Aliases:
        """The groups of merged entities of a corpus; read once per version and kept in memory.

        Parameters
        ----------
        corpus : name of the corpus
        version : version of the corpus that the caller reads
        """

    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Writes all decisions in one transaction; each replaces an earlier one about its pair. Needs the lock.

        Parameters
        ----------
        corpus : name of the corpus
        decisions : decisions to write

        Raises
        ------
        StoreConflictError
            An entity is not in the corpus.
        """

    def drop(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Removes decisions; one that does not exist is ignored. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        decisions : decisions to remove
        """


def grouped(decisions: Iterable[Decision]) -> Groups:
    """The groups of entities that these decisions merge."""
    return Groups(item.pair for item in decisions if item.verdict is Verdict.SAME)


class KeptAliases:
    """A cache of the aliases of corpora, one version of each. Thread-safe: the last read wins."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, Aliases]] = {}
        self._guard = threading.Lock()

    def get(self, corpus: str, *, version: int, read: Callable[[], Groups]) -> Aliases:
        """The aliases of a corpus at a version; reads them if they are not cached.

        Parameters
        ----------
        corpus : name of the corpus
        version : version of the corpus
        read : reads the groups of the corpus
        """
        with self._guard:
            held = self._held.get(corpus)
        if held is None or held[0] != version:
            held = (version, {name: some for some in read().all() for name in some})
            with self._guard:
                self._held[corpus] = held
        return held[1]
