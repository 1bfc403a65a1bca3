"""Removes sources and everything that only they assert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.ingest.forget import forgetting
from hlgraph.ingest.report import Report, note_kept, record_counts
from hlgraph.ingest.sources import chosen_sources
from hlgraph.persist import persist, removal, resume
from hlgraph.read import is_covered
from hlgraph.records import Kind, Source
from hlgraph.stores.domains import domain_of, domain_store
from hlgraph.stores.protocols import Scope, Stores

if TYPE_CHECKING:
    from hlgraph.settings import Settings
    from hlgraph.stores.open import Opened
    from hlgraph.where import Where

REMOVED = 500
"""Sources that one change removes, where the store does not ask for fewer."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion from the corpus of the settings: by name, by filter, or everything."""

    settings: Settings
    opened: Opened

    def run(self, uris: str | Sequence[str], *, where: Where | None, everything: bool) -> Report:
        """Remove the sources.

        Parameters
        ----------
        uris, where, everything : see :meth:`hlgraph.HLGraph.delete`

        Returns
        -------
        Report
        """
        if bool(uris) + (where is not None) + everything != 1:
            raise InputError("say what to delete in one way: uris, a filter, or all of the corpus")
        stores, corpus = self.opened.stores, self.settings.corpus
        names = [uris] if isinstance(uris, str) and uris else uris
        chosen = [item.id for item in chosen_sources(names, where, corpus=corpus, graph=stores.graph)]
        with forgetting(self.settings, corpus, graph=stores.graph, everything=everything) as done:
            if everything:  # first: if the run is killed after the sources are gone, nothing would drop it
                _drop_inferred_domain(stores, corpus)
            report = delete_sources(chosen, corpus, stores=stores, batch_sources=self.opened.batch_removed)
            done.append(report)
        return report


def delete_sources(source_ids: Sequence[str], corpus: str, *, stores: Stores, batch_sources: int = REMOVED) -> Report:
    """Remove sources, and everything that only they assert, from both stores.

    Parameters
    ----------
    source_ids : the sources; ids that are not stored are passed over
    corpus : the corpus
    stores : the open stores
    batch_sources : maximum number of sources of one change

    Returns
    -------
    Report
    """
    report = Report()
    with stores.graph.lock() as pending:
        report.resumed = resume(pending, stores)
        before = record_counts(corpus, stores)
        _remove(source_ids, corpus, report=report, stores=stores, batch_sources=batch_sources)
        note_kept(report, before)
    return report


def delete_missing(
    seen: Report,
    prefixes: Sequence[str],
    *,
    corpus: str,
    keep: set[str],
    stores: Stores,
    batch_sources: int = REMOVED,
) -> None:
    """Remove the stored sources under these uri prefixes that were not read.

    Parameters
    ----------
    seen : the report of the ingest; receives the counts. Its failures, and what lies under them (``uri#...``), are protected
    prefixes : uris of folders and files that were read
    corpus : the corpus
    keep : uris that were read
    stores : the open stores
    batch_sources : maximum number of sources of one change
    """
    names, protected = set(prefixes), {item.uri for item in seen.failed}
    with stores.graph.lock():
        before = record_counts(corpus, stores)
        missing = [
            record.id
            for record in stores.graph.find(Kind.SOURCE, Scope(corpus))
            if isinstance(record, Source)
            and record.uri not in keep
            and is_covered(record.uri, names)
            and not is_covered(record.uri, protected)
        ]
        removed = Report()
        _remove(missing, corpus, report=removed, stores=stores, batch_sources=batch_sources)
        note_kept(removed, before)
    seen.sources_removed += removed.sources_removed
    for kind, number in removed.removed.items():
        seen.removed[kind] = seen.removed.get(kind, 0) + number
    seen.kept = {kind: number - removed.removed.get(kind, 0) for kind, number in seen.kept.items()}


def _remove(source_ids: Sequence[str], corpus: str, *, report: Report, stores: Stores, batch_sources: int) -> None:
    records = stores.graph.records(Kind.SOURCE, source_ids, scope=Scope(corpus))
    found = [record for record in records if isinstance(record, Source)]
    for start in range(0, len(found), batch_sources):
        part = found[start : start + batch_sources]
        with report.timed("persist"):
            change = removal(corpus, [item.id for item in part], versions=[item.version for item in part])
            outcome = persist(change, stores)
        report.count(outcome.added, outcome.vanished)
        report.sources_removed += len(part)


def _drop_inferred_domain(stores: Stores, corpus: str) -> None:
    """Remove a domain that a model inferred: it was told by the documents of the corpus, which are deleted."""
    held = domain_of(stores, corpus)
    if held is not None and held.made_by:
        with stores.graph.lock():
            domain_store(stores).drop(corpus)
