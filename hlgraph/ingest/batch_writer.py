"""Writes prepared batches, each as one change under the lock of the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hlgraph import progress
from hlgraph.change import Outcome
from hlgraph.index import embed_change
from hlgraph.ingest.report import Report, record_counts
from hlgraph.persist import persist, resume
from hlgraph.records import Kind
from hlgraph.stores.protocols import CorpusStats, Scope, Stores

if TYPE_CHECKING:
    from hlgraph.ingest.pipeline import Ready, Steps


@dataclass(slots=True)
class Names:
    """How many names of entities a corpus has, counted again after another writer.

    Attributes
    ----------
    stores : the open stores
    version : the version of the corpus for which ``number`` holds
    number : of names
    """

    stores: Stores
    version: int
    number: int

    def of(self, stats: CorpusStats) -> int:
        """The number of names in a corpus with these statistics; the caller holds the lock of the corpus."""
        if stats.version != self.version:
            counts = record_counts(stats.corpus, self.stores)
            self.version, self.number = stats.version, counts.get(Kind.ENTITY, 0)
        return self.number

    def count(self, outcome: Outcome) -> None:
        """Add what one published change did."""
        kind = Kind.ENTITY.value
        self.version += 1
        self.number += outcome.added.get(kind, 0) - len(outcome.vanished.get(kind, ()))


class Turn(NamedTuple):
    """What became of one batch.

    Attributes
    ----------
    report : what was done: the counts of the change, if it was written, and the seconds
    is_written : False: another writer has changed its sources since it was compared, and nothing of it was written
    """

    report: Report
    is_written: bool


class Writer:
    """Writes the batches of one ingest; one thread at a time may call it.

    Parameters
    ----------
    corpus : the corpus
    names : the number of its names
    stores : the open stores
    steps : the embedder, and what is called before each change
    """

    def __init__(self, corpus: str, *, names: Names, stores: Stores, steps: Steps) -> None:
        self._corpus = corpus
        self._names = names
        self._stores = stores
        self._steps = steps

    def write(self, item: Ready, *, size: int) -> Turn:
        """Writes a batch that has its vectors, unless another writer has overtaken it; holds the lock of the corpus meanwhile.

        Parameters
        ----------
        item : the batch
        size : of all files and documents up to its last one, for those who listen to the progress
        """
        report = Report()
        with self._stores.graph.lock(self._corpus) as pending:
            if pending:
                report.resumed = resume(pending, self._stores, corpus=self._corpus)
            is_current = self._is_current(item)
            if is_current:
                self._publish(item, report, size=size)
        return Turn(report, is_current)

    def _is_current(self, item: Ready) -> bool:
        """Whether the stored sources of a batch are those that it was compared with."""
        wanted = {one.comparison.source.id: one.comparison.stored for one in item.extracted}
        found = self._stores.graph.records(Kind.SOURCE, list(wanted), scope=Scope(self._corpus))
        held = {record.id: record for record in found}
        return all(held.get(name) == stored for name, stored in wanted.items())

    def _publish(self, item: Ready, report: Report, *, size: int) -> None:
        embedder = item.made or self._steps.embedder
        with report.timed("embed"):
            change = embed_change(item.change, item.known, embedder=embedder, stores=self._stores, names=self._names.of)
        with progress.step("persist", len(change.sources), unit="sources"):
            self._steps.before_writing()
            with report.timed("persist"):
                outcome = persist(change, self._stores)
            self._names.count(outcome)
            report.sources_added = sum(one.comparison.is_new for one in item.extracted)
            report.sources_changed = len(change.sources) - report.sources_added
            report.count(outcome.added, outcome.vanished)
            progress.count(
                sources=len(change.sources),
                chunks=outcome.added.get(Kind.CHUNK, 0),
                statements=outcome.added.get(Kind.STATEMENT, 0),
                size=size,
            )
