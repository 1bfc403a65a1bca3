"""The report of an ingest or a deletion."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hlgraph.models.accounts.budget import Usage
from hlgraph.read.outcomes import Files
from hlgraph.records import Domain
from hlgraph.stores.protocols import Stores


class Failure(NamedTuple):
    """A source that was not ingested, or not completely.

    Attributes
    ----------
    uri : the source
    error : the reason and the mend
    extra : name of the extra that is not installed, where this is the reason; else empty
    """

    uri: str
    error: str
    extra: str = ""


@dataclass(slots=True)
class Report:
    """What an ingest or a deletion did.

    Attributes
    ----------
    sources_added, sources_changed, sources_unchanged, sources_removed : counts of sources
    sources_gone : sources that a deletion names and that were gone already: the same deletion, interrupted, had removed them
    failed : sources that were not ingested
    problems : parts of sources that could not be used, such as chunks without an extraction
    warnings : how sources were read otherwise than expected, such as an encoding that was found; nothing is missing of them
    added, removed, kept : counts of records by kind; ``kept`` were there before and stay
    seconds : time by step
    files : the files that an ingest found, by what became of them, with the list of those that it left out
    resumed : changes of interrupted runs that were completed first
    usage : calls and tokens of the chat model; None where none extracted
    domain : the domain that was inferred for the corpus first; None where none was
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
    usage: Usage | None = None
    domain: Domain | None = None

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of a block to a step."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start

    def count(self, added: dict[str, int], vanished: dict[str, tuple[str, ...]]) -> None:
        """Add the outcome of one change.

        Parameters
        ----------
        added : counts of new records by kind
        vanished : ids of removed records by kind
        """
        for kind, number in added.items():
            self.added[kind] = self.added.get(kind, 0) + number
        for kind, items in vanished.items():
            self.removed[kind] = self.removed.get(kind, 0) + len(items)

    def include(self, other: Report) -> None:
        """Add the counts, failures, problems, warnings and seconds of another report; its files that failed fail here, too."""
        for name in ("sources_added", "sources_changed", "sources_unchanged", "sources_removed", "resumed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, found in ((self.added, other.added), (self.removed, other.removed)):
            for kind, number in found.items():
                mine[kind] = mine.get(kind, 0) + number
        self.failed.extend(other.failed)
        for item in other.failed:
            self.files.fail(item.uri)
        self.problems.extend(other.problems)
        self.warnings.extend(other.warnings)
        for step, seconds in other.seconds.items():
            self.seconds[step] = self.seconds.get(step, 0.0) + seconds


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
    found = stores.graph.stats(corpus, has_relationships=False)
    return {kind.value: count for kind, count in found[0].records.items()} if found else {}


def note_kept(report: Report, before: dict[str, int]) -> None:
    """Set ``kept``: the records that were there before and were not removed.

    Parameters
    ----------
    report : the report of the run
    before : counts by kind before it, see :func:`record_counts`
    """
    # What another writer added meanwhile may be among what was removed.
    report.kept = {kind: max(0, count - report.removed.get(kind, 0)) for kind, count in before.items()}
