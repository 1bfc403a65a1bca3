"""What an ingest or a deletion did, and how far it is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hlgraph.models.accounts.usage import Usage
from hlgraph.records import Domain
from hlgraph.stores.protocols import Stores


class Progress(NamedTuple):
    """Where an ingest stands: the step just done, and how many sources, chunks and statements so far."""

    step: str
    sources: int
    chunks: int
    statements: int


class Failure(NamedTuple):
    """A source that could not be ingested, or not completely."""

    uri: str
    error: str


@dataclass(slots=True)
class Report:
    """What an ingest did. ``kept``: records that were there before and were left as they are.

    ``usage``: calls and tokens of the chat model, where one extracted; ``domain``: that was inferred for the corpus first.
    """

    sources_added: int = 0
    sources_changed: int = 0
    sources_unchanged: int = 0
    sources_removed: int = 0
    failed: list[Failure] = field(default_factory=list)
    problems: list[Failure] = field(default_factory=list)
    added: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
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
        """Add the outcome of one change."""
        for kind, number in added.items():
            self.added[kind] = self.added.get(kind, 0) + number
        for kind, items in vanished.items():
            self.removed[kind] = self.removed.get(kind, 0) + len(items)

    def include(self, other: Report) -> None:
        """Add what another report says of sources that were looked at: failures, problems, unchanged ones, seconds."""
        self.sources_unchanged += other.sources_unchanged
        self.failed.extend(other.failed)
        self.problems.extend(other.problems)
        for step, seconds in other.seconds.items():
            self.seconds[step] = self.seconds.get(step, 0.0) + seconds


def record_counts(corpus: str, stores: Stores) -> dict[str, int]:
    """How many records of each kind the corpus has."""
    found = stores.graph.stats(corpus, has_relationships=False)
    return {kind.value: count for kind, count in found[0].records.items()} if found else {}


def note_kept(report: Report, before: dict[str, int]) -> None:
    """Set ``kept``: what was there before and was not removed."""
    report.kept = {kind: count - report.removed.get(kind, 0) for kind, count in before.items()}
