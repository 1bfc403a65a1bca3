"""Removes sources and everything that only they assert.

:class:`Deletion` removes by name, by filter, or everything; :func:`delete_missing` removes sources that are gone. Before a
command removes by name, :class:`Removals` notes which ids each name stands for. If the command is killed and repeated, the
names that are already gone are recognised and not refused as misspelt.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hlgraph import progress
from hlgraph.errors import HoldError, InputError, UnknownNameError, WhereError
from hlgraph.ids import HISTORY, beginnings, checksum, source_ids
from hlgraph.ingest.forget import Forget, embedded_texts, forgetter, forgetting
from hlgraph.ingest.history import (
    history_of,
    is_kept,
    latest_versions,
    record,
    refuse_history,
    refuse_receipt,
    synchronise,
    versions_of,
)
from hlgraph.ingest.report import Report, add_counts, note_kept, record_counts
from hlgraph.models.sqlite_file import DiskFile
from hlgraph.persist.assemble import removal
from hlgraph.persist.compare import metadata_text, stored_metadata
from hlgraph.persist.journal import persist, resume
from hlgraph.read import covering, is_covered, source_uri
from hlgraph.records import Chunk, Kind, Source
from hlgraph.settings import accounts_folder
from hlgraph.stores.protocols import Scope, Stores, domain_of, domain_store, find_records, read_records
from hlgraph.where import check_fields, matches, parse, source_values, to_text

if TYPE_CHECKING:
    from hlgraph.ingest.receipts import ReceiptDraft, ReceiptOptions
    from hlgraph.models.choose import ChosenModels
    from hlgraph.progress import OnProgress
    from hlgraph.records import Document
    from hlgraph.settings import Settings
    from hlgraph.stores.derived import Hold
    from hlgraph.stores.open import Opened
    from hlgraph.stores.protocols import GraphStore
    from hlgraph.where import Where


def filtered(where: Where | None, *, corpus: str, graph: GraphStore) -> list[Source]:
    """The stored sources that match a filter.

    Parameters
    ----------
    where : filter over the metadata; None matches all
    corpus : the corpus
    graph : the graph store

    Returns
    -------
    list of Source

    Raises
    ------
    WhereError : no source has a field of the filter
    """
    if where is not None:
        for stats in graph.stats(corpus, has_counts=False):
            check_fields(where, stats.fields)
    return list(find_records(graph, Source, scope=Scope(corpus, where)))


def full_name(name: str) -> str:
    """A name that is independent of the working directory: the file uri of a path. Other names are returned unchanged."""
    try:
        return source_uri(name)
    except InputError:
        return name


def names_of(name: str) -> set[str]:
    """The uris and prefixes of uris that a name stands for: a file, its rows, a single row, or a folder."""
    path, mark, row = name.partition("#")
    whole = full_name(name)
    return {whole, f"{whole}/", f"{full_name(path)}{mark}{row}" if path else name}


def sources_of(names: Sequence[str], *, corpus: str, graph: GraphStore) -> list[Source]:
    """The stored sources that :func:`named` may choose for these names. No others are read.

    Parameters
    ----------
    names : names given by the caller
    corpus, graph : the corpus, and the graph store
    """
    known = _with_uris(names, corpus=corpus, graph=graph)
    uris = {source.uri for source in known.values()}
    others = {each for name in names if name not in uris for each in names_of(name)}
    return list({**known, **_reached(others, corpus=corpus, graph=graph)}.values())


def _with_uris(uris: Iterable[str], *, corpus: str, graph: GraphStore) -> dict[str, Source]:
    if corpus.endswith(HISTORY):  # the last version first: a kill in between leaves no gap
        versions = versions_of(graph, corpus, uris=dict.fromkeys(uris))
        return {version.id: version for mine in versions.values() for version in reversed(mine)}
    ids = [each for uri in dict.fromkeys(uris) for each in source_ids(corpus, uri)]
    return read_records(graph, Source, ids=ids, scope=Scope(corpus))


def _reached(uris: Collection[str], *, corpus: str, graph: GraphStore) -> dict[str, Source]:
    """The sources with these uris, and those inside these files and folders."""
    inside = {source.id: source for source in graph.sources_inside(corpus, beginnings(uris))}
    return {**_with_uris(sorted(uris), corpus=corpus, graph=graph), **inside}


def named(
    sources: Sequence[Source], names: Sequence[str], *, corpus: str, did: str = "deleted", gone: Collection[str] = ()
) -> dict[str, list[Source]]:
    """Sources by uri, by the path of their file, or by the folder or file of rows that contains them.

    Parameters
    ----------
    sources : the sources to choose from
    names : names given by the caller
    corpus, did : for the error message: the corpus, and the action that was not done
    gone : names that may match no source

    Returns
    -------
    dict
        The sources of each name, in the order of the names.

    Raises
    ------
    UnknownNameError : a name matches no source
    """
    exact: dict[str, list[Source]] = {}
    inside: dict[str, dict[str, Source]] = {}
    wanted = {each for name in names for each in names_of(name)}
    for source in sources:
        exact.setdefault(source.uri, []).append(source)
        for each in wanted.intersection(covering(source.uri)):
            inside.setdefault(each, {})[source.id] = source
    chosen: dict[str, list[Source]] = {}
    for name in names:
        chosen[name] = exact.get(name) or _in_order([inside.get(each, {}) for each in names_of(name)])
        if not chosen[name] and name not in gone:
            raise UnknownNameError(f"{name}: no source of corpus {corpus!r} has this uri or path; nothing was {did}")
    return chosen


def _in_order(parts: Iterable[dict[str, Source]]) -> list[Source]:
    together = {name: source for part in parts for name, source in part.items()}
    return [together[name] for name in sorted(together)]


def holds_of(corpus: str, stores: Stores) -> tuple[Hold, ...]:
    """The holds of a corpus; none if the stores keep none.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores
    """
    retention = stores.graph.retention
    return () if retention is None else retention.holds(corpus)


def under(hold: Hold, sources: Iterable[Source]) -> list[Source]:
    """The sources that a hold is on: it named them when it was added, or its uris or its filter name them now.

    Parameters
    ----------
    hold : a hold of their corpus
    sources : stored sources
    """
    ids, names = set(hold.ids), {each for uri in hold.uris for each in (uri, f"{uri}/")}
    where = parse(hold.where) if hold.where else None
    return [
        source
        for source in sources
        if source.id in ids
        or is_covered(source.uri, names)
        or (where is not None and matches(where, source_values(source)))
    ]


def refuse_held(sources: Sequence[Source], corpus: str, *, stores: Stores) -> None:
    """Refuse to delete sources under a hold. The caller has the lock, so that no hold is added meanwhile.

    Parameters
    ----------
    sources : sources that are about to be deleted
    corpus : the corpus
    stores : the open stores

    Raises
    ------
    HoldError
        One of them is under a hold.
    """
    for hold in holds_of(corpus, stores) if sources else ():
        kept = under(hold, sources)
        if kept:
            more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
            place = f" --corpus {corpus}" if corpus.endswith(HISTORY) else ""
            raise HoldError(
                f"{kept[0].uri}{more}: under the hold {hold.name!r}, so nothing was deleted; leave it out, or release the hold: "
                f"hlgraph hold release {hold.name}{place}",
                hold=hold.name,
                uri=kept[0].uri,
            )


def refused_edits(edits: Sequence[tuple[Document, Source]], corpus: str, *, stores: Stores) -> dict[str, HoldError]:
    """The edits of sources under a hold that would remove text, title or metadata, by uri, each with the reason.

    An edit may add text, and extract it anew: the document must have the text of every stored chunk, the title and the metadata.

    Parameters
    ----------
    edits : changed documents, each with its stored source
    corpus : the corpus
    stores : the open stores
    """
    refused: dict[str, HoldError] = {}
    for hold in holds_of(corpus, stores) if edits else ():
        kept = {source.id for source in under(hold, (source for _, source in edits))}
        for document, source in edits:
            if source.id not in kept or source.uri in refused or _keeps(document, source, stores.graph):
                continue
            refused[source.uri] = HoldError(
                f"{source.uri}: under the hold {hold.name!r}, so its text, title and metadata were not replaced; ingest the new "
                f"text under another uri, or release the hold: hlgraph hold release {hold.name}",
                hold=hold.name,
                uri=source.uri,
            )
    return refused


def _keeps(document: Document, source: Source, graph: GraphStore) -> bool:
    """Whether a document has all that its stored source says."""
    texts = (metadata_text(stored_metadata(document, source)), metadata_text(source.metadata))
    chunks = find_records(graph, Chunk, scope=Scope(source.corpus, sources=(source.id,)))
    is_same = document.title == source.title and texts[0] == texts[1]
    return is_same and all(chunk.text in document.text for chunk in chunks)


def receipt_options(path: str | Path | None, *, has_uris: bool) -> ReceiptOptions | None:
    """Where a receipt is written; None without a file. Raises InputError for uris without a receipt.

    Parameters
    ----------
    path : the file
    has_uris : whether the receipt holds uris as text
    """
    if path is None:
        if has_uris:
            raise InputError("receipt_uris has no effect without receipt; name the file of the receipt")
        return None
    from hlgraph.ingest.receipts import ReceiptOptions

    return ReceiptOptions(Path(path), has_uris)


REMOVED = 500
"""Number of sources that one change removes, so that it fits one transaction."""


class Remover(NamedTuple):
    """Removes sources, in changes of bounded size.

    Attributes
    ----------
    stores : the open stores
    batch_sources : maximum number of sources of one change
    forget : deletes texts from a cache; None if there is no cache
    draft : notes what is removed, for a receipt; None without one
    removed : receives the uris of the sources that were removed, for the history; None: they are not needed
    """

    stores: Stores
    batch_sources: int = REMOVED
    forget: Forget | None = None
    draft: ReceiptDraft | None = None
    removed: set[str] | None = None

    def remove(self, source_ids: Sequence[str], corpus: str, *, report: Report) -> None:
        """Remove these sources and everything that only they assert. The caller must hold the lock of the graph store.

        Cached data about their texts is deleted before the sources: if the process is killed in between, the texts are
        still known.

        Parameters
        ----------
        source_ids : the sources; ids that are not stored are ignored
        corpus : the corpus
        report : receives the counts
        """
        graph = self.stores.graph
        sources = list(read_records(graph, Source, ids=source_ids, scope=Scope(corpus)).values())
        with report.timed("persist"), progress.step("remove", len(sources), unit="sources"):
            for start in range(0, len(sources), self.batch_sources):
                part = sources[start : start + self.batch_sources]
                if self.forget is not None:
                    self.forget(embedded_texts(part, corpus, graph=graph))
                change = removal(corpus, [source.id for source in part], versions=[source.version for source in part])
                if self.draft is None:
                    outcome = persist(change, self.stores)
                else:
                    self.draft.note(change, part)
                    outcome = persist(change, self.stores, noted=self.draft.published)
                report.count(outcome.added, outcome.vanished)
                report.sources_removed += len(part)
                if self.removed is not None:
                    self.removed.update(source.uri for source in part)
                progress.advance("remove", len(part))


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion from the corpus of the settings: by name, by filter, or everything.

    Attributes
    ----------
    settings : the corpus
    opened : the open stores
    models : the models, of which some cache vectors
    on_progress : called with the progress of every step; default none
    receipt : where the receipt is written; None: there is none
    """

    settings: Settings
    opened: Opened
    models: ChosenModels
    on_progress: OnProgress | None = None
    receipt: ReceiptOptions | None = None
    _removed: set[str] = field(default_factory=set, init=False)

    def run(self, uris: str | Sequence[str], *, where: Where | None, everything: bool, history: bool = False) -> Report:
        """Remove the sources.

        Changes of interrupted runs are completed first. Sources that a killed run of the same command removed count as
        deleted.

        Parameters
        ----------
        uris, where, everything, history : see :meth:`hlgraph.HLGraph.delete`

        Returns
        -------
        Report
        """
        if bool(uris) + (where is not None) + everything != 1:
            raise InputError("say what to delete in one way: uris, a filter, or all of the corpus")
        stores, corpus = self.opened.stores, self.settings.corpus
        refuse_history(corpus)
        names = [uris] if isinstance(uris, str) and uris else list(uris)
        if not (is_kept(stores, corpus) if everything else synchronise(stores, corpus)):
            if history:
                raise InputError(f"corpus {corpus!r} keeps no history; leave history out; nothing was deleted")
            return self._remove(names, where)
        if history or everything:
            return self._remove_with_history(names, where)
        if self.receipt is not None:
            refuse_receipt(stores, corpus)
        report = self._remove(names, where)
        record(stores, corpus, removed=self._removed)
        report.kept_in_history = report.sources_removed
        return report

    def _remove_with_history(self, names: Sequence[str], where: Where | None) -> Report:
        """Remove the sources, then all their versions, also of sources that are no longer present."""
        stores, corpus = self.opened.stores, self.settings.corpus
        reached = {each for name in names for each in (name, *names_of(name))}
        latest = latest_versions(stores, corpus, among=reached if names else None)
        chosen = latest
        if names:
            by_name = named(latest, names, corpus=corpus, gone=names)
            chosen = list({source.uri: source for some in by_name.values() for source in some}.values())
        elif where is not None:
            chosen = [source for source in latest if matches(where, source_values(source))]
        refuse_held(chosen, corpus, stores=stores)
        if holds_of(history_of(corpus), stores):
            versions = versions_of(stores.graph, history_of(corpus), uris=[source.uri for source in chosen])
            refuse_held([each for mine in versions.values() for each in mine], history_of(corpus), stores=stores)
        receipt = self.receipt and self.receipt._replace(path=Path(f"{self.receipt.path}.history"))
        settings = replace(self.settings, corpus=history_of(corpus))
        past = replace(self, settings=settings, receipt=receipt)
        uris = sorted({source.uri for source in chosen})
        with past._draft(uris, None) as draft:  # before anything is removed
            if draft is not None:
                draft.check()
        try:
            report = self._remove(names, where, gone={name for name in names if by_name[name]} if names else ())
        except WhereError:  # no present source has the field
            if not chosen:
                raise
            report = Report()
        record(stores, corpus, removed=self._removed)
        if uris:
            report.versions_removed = past._remove(uris, None).sources_removed
            record(stores, corpus, is_due=True)
        return report

    def _remove(self, names: Sequence[str], where: Where | None, *, gone: Collection[str] = ()) -> Report:
        """Remove sources; ``gone`` are names that may match none. Without names and filter: all of the corpus."""
        stores, corpus, everything = self.opened.stores, self.settings.corpus, not names and where is None
        absent = gone
        forget = forgetter(self.settings, self.models)
        if not stores.graph.stats(corpus, has_counts=False):
            raise UnknownNameError(f"there is no corpus {corpus!r}; nothing to delete")
        with progress.listening(self.on_progress), self._draft(names, where) as draft:
            with stores.graph.lock(corpus) as pending, Removals(self.settings, "source") as removals:
                if draft is not None:
                    draft.begin()
                noted = {} if draft is None else {"noted": draft.published}
                finished = {name for interrupted in pending for name in interrupted.change.removed_sources}
                resumed = resume(pending, stores, corpus=corpus, **noted)
                if names:
                    chosen, gone = self._by_name(names, removals, finished=finished, absent=absent)
                else:
                    chosen, gone = self._by_filter(where, removals)
                ids = list(dict.fromkeys(name for items in chosen.values() for name in items))
                if draft is not None:
                    draft.include(gone.difference(ids))
                remover = Remover(stores, forget=forget, draft=draft, removed=self._removed)
                with (
                    removals.removing(chosen),
                    forgetting(self.settings, corpus, graph=stores.graph, everything=everything) as done,
                ):
                    if everything:  # first: after a kill with all sources gone, nothing would drop it
                        _drop_inferred_domain(stores, corpus)
                    report = delete_sources(ids, corpus, stores=stores, remover=remover)
                    report.resumed, report.sources_gone = resumed, len(gone.difference(ids))
                    done.append(report)
                if draft is not None:
                    draft.verify()
            report.receipt = None if draft is None else draft.seal()
        return report

    def _draft(self, names: Sequence[str], where: Where | None) -> AbstractContextManager[ReceiptDraft | None]:
        """The draft of the receipt; None without one."""
        if self.receipt is None:
            return nullcontext()
        from hlgraph.ingest.receipts import ReceiptDraft

        by = "uris" if names else "everything" if where is None else "where"
        asked = names if where is None else [to_text(where)]
        return ReceiptDraft(self.receipt, self.settings, stores=self.opened.stores, by=by, names=asked)

    def _by_name(
        self, names: Sequence[str], removals: Removals, *, finished: set[str], absent: Collection[str]
    ) -> tuple[dict[str, list[str]], set[str]]:
        """The ids of the stored sources of each name, and the ids that the names stood for in a killed run.

        Sources removed by a change that was just resumed (``finished``) count as gone. Names of ``absent`` may match no source.
        """
        corpus, graph = self.settings.corpus, self.opened.stores.graph
        keys = {name: full_name(name) for name in names}
        noted = removals.of(list(keys.values()))
        # The change may come from a run on another machine, whose notes are not on this one.
        resumed = {
            name: finished & {each for uri in {name, *names_of(name)} for each in source_ids(corpus, uri)}
            for name in names
        }
        known = {name for name, key in keys.items() if key in noted or resumed[name] or name in absent}
        by_name = named(sources_of(names, corpus=corpus, graph=graph), names, corpus=corpus, gone=known)
        refuse_held([source for items in by_name.values() for source in items], corpus, stores=self.opened.stores)
        chosen = {keys[name]: [source.id for source in items] for name, items in by_name.items()}
        return chosen, _gone(chosen, noted).union(*resumed.values())

    def _by_filter(self, where: Where | None, removals: Removals) -> tuple[dict[str, list[str]], set[str]]:
        """The same for the sources that match a filter; None for all."""
        key = f"where {to_text(where) if where is not None else ''}"
        noted = removals.of([key])
        try:
            sources = filtered(where, corpus=self.settings.corpus, graph=self.opened.stores.graph)
        except WhereError:  # no source has the field: the sources may be gone
            if key not in noted:
                raise
            sources = []
        refuse_held(sources, self.settings.corpus, stores=self.opened.stores)
        chosen = {key: [source.id for source in sources]}
        return chosen, _gone(chosen, noted)


def _gone(chosen: Mapping[str, Sequence[str]], noted: Mapping[str, Noted]) -> set[str]:
    """The ids that these names stood for in a killed run, or in a run that removed all of them."""
    return {one for name, entry in noted.items() if not (entry.is_done and chosen[name]) for one in entry.ids}


def delete_sources(source_ids: Sequence[str], corpus: str, *, stores: Stores, remover: Remover | None = None) -> Report:
    """Remove sources, and everything that only they assert, from both stores.

    Parameters
    ----------
    source_ids : the sources; ids that are not stored are ignored
    corpus : the corpus
    stores : the open stores
    remover : removes them; None for one without a cache

    Returns
    -------
    Report
    """
    report = Report()
    with stores.graph.lock(corpus) as pending:
        report.resumed = resume(pending, stores, corpus=corpus)
        before = record_counts(corpus, stores)
        (remover or Remover(stores)).remove(source_ids, corpus, report=report)
        note_kept(report, before)
    return report


def delete_missing(
    seen: Report, prefixes: Sequence[str], *, corpus: str, keep: Collection[str], remover: Remover
) -> None:
    """Remove the stored sources under these uri prefixes that were not read.

    Parameters
    ----------
    seen : the report of the ingest; receives the counts. Its failures and everything under them (``uri#...``) are protected
    prefixes : uris of folders and files that were read
    corpus : the corpus
    keep : uris that were read, each once
    remover : removes them
    """
    names, protected = set(prefixes), {failure.uri for failure in seen.failed}
    stores, draft = remover.stores, remover.draft
    with stores.graph.lock(corpus) as pending:
        if draft is not None:
            draft.begin()
        resume(pending, stores, corpus=corpus, **({} if draft is None else {"noted": draft.published}))
        missing: list[Source] = []
        if seen.failed or record_counts(corpus, stores).get(Kind.SOURCE, 0) != len(keep):
            missing = [  # else every uri that was read is stored, and no other one
                source
                for source in _reached(names, corpus=corpus, graph=stores.graph).values()
                if source.uri not in keep and is_covered(source.uri, names) and not is_covered(source.uri, protected)
            ]
        refuse_held(missing, corpus, stores=stores)
        if draft is not None:
            draft.include(())
        removed = Report()
        remover.remove([source.id for source in missing], corpus, report=removed)
        if draft is not None:
            draft.verify()
    seen.sources_removed += removed.sources_removed
    add_counts(seen.removed, removed.removed)
    seen.kept = {kind: max(0, number - removed.removed.get(kind, 0)) for kind, number in seen.kept.items()}


def _drop_inferred_domain(stores: Stores, corpus: str) -> None:
    """Remove a domain that a model inferred, because the documents that it was inferred from are deleted."""
    domain = domain_of(stores, corpus)
    if domain is not None and domain.made_by:
        with stores.graph.lock(corpus):
            domain_store(stores).drop(corpus)


# The names that commands have to remove, stored as hashes next to the ledger of the store.


_FILE = "removed-1.sqlite"  # 1 is the version of its schema
_SCHEMA = """
CREATE TABLE removed (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    ids TEXT NOT NULL,
    is_done INTEGER NOT NULL
)
"""
_LOSS = "a command that removes something, killed in the middle, may refuse names that are gone; free disk space"
_MOST_NAMES = 10_000
"""Largest number of names of completed commands; the oldest are dropped."""


class Noted(NamedTuple):
    """The ids of a name at the time of the command that removes it.

    Attributes
    ----------
    ids : the ids
    is_done : whether the command removed all of them; False if it was killed before that
    """

    ids: frozenset[str]
    is_done: bool


class Removals:
    """The names that commands remove from one corpus. A context manager that closes the file.

    Parameters
    ----------
    settings : the store, the corpus and the folder of the accounts
    what : kind of the removed records: ``source``, ``failure`` or ``decision``
    """

    def __init__(self, settings: Settings, what: str) -> None:
        self._scope = (settings.corpus, what)
        self._file = DiskFile(accounts_folder(settings) / _FILE, _SCHEMA, name="list of removals", loss=_LOSS)

    def __enter__(self) -> Removals:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, names: Sequence[str]) -> dict[str, Noted]:
        """The noted ids of these names. Names that no command has removed are left out."""
        keys = {self._key(name): name for name in names}

        def select(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
            statement = "SELECT name, ids, is_done FROM removed WHERE name IN (SELECT value FROM json_each(?))"
            return connection.execute(statement, (json.dumps(list(keys)),)).fetchall()

        rows = self._file.read(select) or []
        return {keys[key]: Noted(frozenset(ids.split()), bool(is_done)) for key, ids, is_done in rows}

    @contextmanager
    def removing(self, chosen: Mapping[str, Collection[str]]) -> Iterator[None]:
        """Note the ids of each name, run the block, and note that it removed all of them.

        Ids noted by a killed command are kept.

        Parameters
        ----------
        chosen : the stored ids of each name
        """
        earlier = self.of(list(chosen))
        before = {name: frozenset() if noted.is_done else noted.ids for name, noted in earlier.items()}
        rows = [
            (self._key(name), " ".join(sorted(before.get(name, frozenset()).union(ids))))
            for name, ids in chosen.items()
            if ids  # otherwise there is nothing to add
        ]
        insert = "INSERT OR REPLACE INTO removed (name, ids, is_done) VALUES (?, ?, 0)"
        self._file.write(lambda connection: connection.executemany(insert, rows))
        yield
        keys = [self._key(name) for name in chosen]
        self._file.write(lambda connection: _end(connection, keys))

    def _key(self, name: str) -> str:
        return checksum(*self._scope, name)


def _end(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    connection.executemany("UPDATE removed SET is_done = 1 WHERE name = ?", ((key,) for key in keys))
    connection.execute(
        "DELETE FROM removed WHERE is_done AND id NOT IN (SELECT id FROM removed ORDER BY id DESC LIMIT ?)",
        (_MOST_NAMES,),
    )
