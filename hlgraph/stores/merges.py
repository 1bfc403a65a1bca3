"""Decisions that two entities of a corpus are one, or are not, and what keeps them.

The base tier is never touched by a merge: entities, statements and facts stay as they were extracted. A decision is a
relationship between two entities (SAME_AS, or JUDGED for what was not merged), and reading puts it to use. So undoing is
removing it, and a later ingest that mentions an alias finds it merged. A decision leaves with the first of its two entities:
what nothing asserts any more leaves nothing behind.
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
"""Of each entity that is one with others: all of them, itself among them, ascending."""


class Verdict(StrEnum):
    """What was decided: one, not one, or judged to be one but held back, since another decision says otherwise."""

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
    """What was decided about two entities.

    Attributes
    ----------
    alias, canonical : ids; the second is the one to be called by. In what is no merge the order means nothing
    by, made_by : who decided; the rule, the prompt and model, or the name of the person
    why : the evidence in a few words, never words of a document
    score : cosine of the two names; 0 where nobody asked
    at : when, ISO 8601 in UTC
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
        """One for the pair, whichever way round: a later decision about it takes the place of the earlier one."""
        return content_id("merge", self.corpus, *self.pair)

    @property
    def pair(self) -> tuple[str, str]:
        """Both ids, ascending."""
        return min(self.alias, self.canonical), max(self.alias, self.canonical)


class MergeStore(Protocol):
    """Decisions about entities of a corpus. What is saved or dropped raises the version of the corpus."""

    def decisions(self, corpus: str) -> tuple[Decision, ...]:
        """All of them, by id."""

    def aliases(self, corpus: str, *, version: int) -> Aliases:
        """What is one by the merges of a corpus; read once a version and kept in memory."""

    def save(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Write decisions, each in the place of an earlier one about its pair: all of them, or nothing. Needs the lock.

        Raises StoreConflictError when an entity is not in the corpus.
        """

    def drop(self, corpus: str, decisions: Sequence[Decision]) -> None:
        """Remove decisions; those that are not there are no error. Needs the lock of the graph store."""


def grouped(decisions: Iterable[Decision]) -> Groups:
    """The groups that the merges among some decisions make."""
    return Groups(item.pair for item in decisions if item.verdict is Verdict.SAME)


class KeptAliases:
    """The aliases of corpora as of one version each; safe for threads: the last one to read wins."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[int, Aliases]] = {}
        self._guard = threading.Lock()

    def get(self, corpus: str, *, version: int, read: Callable[[], Iterable[Decision]]) -> Aliases:
        """Those of this version; read where they are not held."""
        with self._guard:
            held = self._held.get(corpus)
        if held is None or held[0] != version:
            held = (version, {name: some for some in grouped(read()).all() for name in some})
            with self._guard:
                self._held[corpus] = held
        return held[1]
