"""The report of an ingest or a deletion, and the counts in it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hlgraph.models.accounts.budget import Usage
from hlgraph.read.outcomes import Files
from hlgraph.records import Domain
from hlgraph.stores.protocols import Stores

if TYPE_CHECKING:
    from hlgraph.ingest.receipts import Receipt

N = TypeVar("N", int, float)


class Failure(NamedTuple):
    """A source that was not ingested, or not completely.

    Attributes
    ----------
    uri : the source
    error : the reason and the remedy
    extra : name of a missing extra, if that is the reason; otherwise empty
    """

    uri: str
    error: str
    extra: str = ""


@dataclass(slots=True)
class Report:
    """The result of an ingest or a deletion.

    Attributes
    ----------
    sources_added, sources_changed, sources_unchanged, sources_removed : counts of sources
    sources_gone : sources that a deletion names but that an interrupted run of the same deletion had already removed
    failed : sources that were not ingested
    problems : parts of sources that could not be used, such as chunks without an extraction
    warnings : unexpected ways in which sources were read, such as a guessed encoding; no text is missing
    added, removed, kept : counts of records by kind; ``kept`` existed before and remain
    seconds : time by step
    files : the files of an ingest by outcome, with a list of those that were left out
    resumed : changes of interrupted runs that were completed first
    dropped : items, and parts of items, of a chat model's replies that could not be read; each is in the quarantine
    ungrounded : propositions of a chat model that were not stored since their chunk does not say them; each is in the quarantine
    usage : calls and tokens of the chat model; None without one
    domain : the domain that was inferred for the corpus first; None if none was inferred
    kept_in_history : removed sources whose versions the history of the corpus keeps
    versions_removed : versions of sources that were removed from the history of the corpus
    receipt : the receipt of what was deleted; None if none was requested
    """

    sources_added: int = 0
    sources_changed: int = 0
    sources_unchanged: int = 0
    sources_removed: int = 0
    sources_gone: int = 0
    failed: list[Failure] = field(default_factory=list)
    problems: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)
    added: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    files: Files = field(default_factory=Files)
    resumed: int = 0
    dropped: int = 0
    ungrounded: int = 0
    usage: Usage | None = None
    domain: Domain | None = None
    kept_in_history: int = 0
    versions_removed: int = 0
    receipt: Receipt | None = None

    def timed(self, step: str) -> AbstractContextManager[None]:
        """Add the time of a block to a step."""
        return timed(self.seconds, step)

    def count(self, added: dict[str, int], vanished: dict[str, tuple[str, ...]]) -> None:
        """Add the outcome of one change.

        Parameters
        ----------
        added : counts of new records by kind
        vanished : ids of removed records by kind
        """
        add_counts(self.added, added)
        add_counts(self.removed, {kind: len(ids) for kind, ids in vanished.items()})

    def include(self, other: Report) -> None:
        """Add the counts, failures, problems, warnings and seconds of another report, and mark its failed files."""
        counts = "sources_added sources_changed sources_unchanged sources_removed resumed dropped ungrounded"
        for name in counts.split():
            setattr(self, name, getattr(self, name) + getattr(other, name))
        add_counts(self.added, other.added)
        add_counts(self.removed, other.removed)
        add_counts(self.seconds, other.seconds)
        self.failed.extend(other.failed)
        for failure in other.failed:
            self.files.fail(failure.uri)
        self.problems.extend(other.problems)
        self.warnings.extend(other.warnings)


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time of a block to a step.

    Parameters
    ----------
    seconds : time by step; receives the time
    step : name of the step
    """
    start = time.perf_counter()
    try:
        yield
    finally:
        add_counts(seconds, {step: time.perf_counter() - start})


def add_counts(totals: dict[str, N], counts: Mapping[str, N]) -> None:
    """Add counts to totals with the same keys.

    Parameters
    ----------
    totals : receives the counts
    counts : numbers by key
    """
    for key, number in counts.items():
        totals[key] = totals.get(key, 0) + number


def record_counts(corpus: str, stores: Stores) -> dict[str, int]:
    """Counts of the records of a corpus.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores

    Returns
    -------
    dict
        Counts by kind; empty for a corpus that does not exist.
    """
    stats = stores.graph.stats(corpus, has_relationships=False)
    return {kind.value: count for kind, count in stats[0].records.items()} if stats else {}


def note_kept(report: Report, before: dict[str, int]) -> None:
    """Set ``kept``: the records that were there before and were not removed.

    Parameters
    ----------
    report : the report of the run
    before : counts by kind before it, see :func:`record_counts`
    """
    # Records that another writer added meanwhile may be among the removed ones.
    report.kept = {kind: max(0, count - report.removed.get(kind, 0)) for kind, count in before.items()}
