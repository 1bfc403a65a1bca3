"""Removes sources and everything that only they assert."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hlgraph import progress
from hlgraph.errors import InputError, UnknownNameError, WhereError
from hlgraph.ids import checksum, source_ids
from hlgraph.ingest.forget import Forget, embedded_texts, forgetter, forgetting
from hlgraph.ingest.report import Report, note_kept, record_counts
from hlgraph.models.sqlite_file import DiskFile, writing
from hlgraph.persist import persist, removal, resume
from hlgraph.read import is_covered, source_uri
from hlgraph.records import Kind, Source
from hlgraph.settings import accounts_folder
from hlgraph.stores.protocols import Scope, Stores, domain_of, domain_store
from hlgraph.where import check_fields, to_text

if TYPE_CHECKING:
    from hlgraph.models.choose import ChosenModels
    from hlgraph.progress import OnProgress
    from hlgraph.settings import Settings
    from hlgraph.stores.open import Opened
    from hlgraph.stores.protocols import GraphStore
    from hlgraph.where import Where


# Remembers what commands were told to remove, so that the same command, repeated after a kill, is not refused.
#
# A command that removes by name writes down which ids each name stands for before it removes the first. Killed in between, the
# names that are gone stand for those ids, not for a spelling mistake. Names are kept as hashes, beside the ledger of the store.


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
"""Names of commands that were completed; those of the oldest are dropped."""


class Noted(NamedTuple):
    """What a name stood for when a command was told to remove it.

    Attributes
    ----------
    ids : ids of what it named
    is_done : the command removed all of them; False: it was killed before it had
    """

    ids: frozenset[str]
    is_done: bool


class Removals:
    """The names that commands were told to remove from one corpus. A context manager, which closes the file.

    Parameters
    ----------
    settings : name the store, the corpus, and the folder of the accounts
    what : what is removed: ``source``, ``failure`` or ``decision``
    """

    def __init__(self, settings: Settings, what: str) -> None:
        self._scope = (settings.corpus, what)
        self._file = DiskFile(accounts_folder(settings) / _FILE, _SCHEMA, name="list of removals", loss=_LOSS)

    def __enter__(self) -> Removals:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, names: Sequence[str]) -> dict[str, Noted]:
        """What these names stood for; a name that no command was told to remove is left out."""
        keys = {self._key(name): name for name in names}

        def select(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
            statement = "SELECT name, ids, is_done FROM removed WHERE name IN (SELECT value FROM json_each(?))"
            return connection.execute(statement, (json.dumps(list(keys)),)).fetchall()

        found = (self._file.attempt(select) or []) if self._file.path.exists() else []
        return {keys[key]: Noted(frozenset(ids.split()), bool(is_done)) for key, ids, is_done in found}

    @contextmanager
    def removing(self, chosen: Mapping[str, Collection[str]]) -> Iterator[None]:
        """Note what each name stands for, run the block, and note that it removed all of it.

        What a name stood for in a command that was killed is kept with it.

        Parameters
        ----------
        chosen : for each name the ids of what is stored of it
        """
        held = self.of(list(chosen))
        before = {name: frozenset() if noted.is_done else noted.ids for name, noted in held.items()}
        rows = [
            (self._key(name), " ".join(sorted(before.get(name, frozenset()).union(ids))))
            for name, ids in chosen.items()
            if ids  # nothing to add to what is noted of it
        ]
        self._file.attempt(lambda connection: _begin(connection, rows))
        yield
        keys = [self._key(name) for name in chosen]
        self._file.attempt(lambda connection: _end(connection, keys))

    def _key(self, name: str) -> str:
        return checksum(*self._scope, name)


def _begin(connection: sqlite3.Connection, rows: Sequence[tuple[str, str]]) -> None:
    with writing(connection):
        connection.executemany("INSERT OR REPLACE INTO removed (name, ids, is_done) VALUES (?, ?, 0)", rows)


def _end(connection: sqlite3.Connection, keys: Sequence[str]) -> None:
    with writing(connection):
        connection.executemany("UPDATE removed SET is_done = 1 WHERE name = ?", ((key,) for key in keys))
        connection.execute(
            "DELETE FROM removed WHERE is_done AND id NOT IN (SELECT id FROM removed ORDER BY id DESC LIMIT ?)",
            (_MOST_NAMES,),
        )


# Finds the stored sources that a caller names: by uri, path, folder or filter.


def filtered(where: Where | None, *, corpus: str, graph: GraphStore) -> list[Source]:
    """The stored sources that a filter admits.

    Parameters
    ----------
    where : filter over the metadata; None admits all
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
    return [record for record in graph.find(Kind.SOURCE, Scope(corpus, where)) if isinstance(record, Source)]


def full_name(name: str) -> str:
    """A name as it reads from every folder: the uri of the file of a path; a name that is no path stays as it is."""
    try:
        return source_uri(name)
    except InputError:
        return name


def names_of(name: str) -> set[str]:
    """The uris, and the beginnings of uris, that a name stands for: a file, its rows, a row of it, or a folder."""
    path, mark, row = name.partition("#")
    whole = full_name(name)
    return {whole, f"{whole}/", f"{full_name(path)}{mark}{row}" if path else name}


def named(
    sources: list[Source], names: Sequence[str], *, corpus: str, did: str = "deleted", gone: Collection[str] = ()
) -> dict[str, list[Source]]:
    """Sources by their uri, by the path of their file, or by a folder or file of rows that holds them.

    Parameters
    ----------
    sources : the sources to choose from
    names : what the caller calls them
    corpus, did : for the message of the error: the corpus, and what was not done
    gone : names that need not be there any more

    Returns
    -------
    dict
        The sources of each name, in the order of the names.

    Raises
    ------
    UnknownNameError : a name fits no source
    """
    chosen: dict[str, list[Source]] = {}
    for name in names:
        held = [item for item in sources if item.uri == name]
        if not held:
            wanted = names_of(name)
            held = [item for item in sources if is_covered(item.uri, wanted)]
        if not held and name not in gone:
            raise UnknownNameError(f"{name}: no source of corpus {corpus!r} has this uri or path; nothing was {did}")
        chosen[name] = held
    return chosen


REMOVED = 500
"""Sources that one change removes, where the store does not ask for fewer."""


class Remover(NamedTuple):
    """Removes sources, in changes of bounded size.

    Attributes
    ----------
    stores : the open stores
    batch_sources : maximum number of sources of one change
    forget : deletes what a cache holds about texts; None: there is none
    """

    stores: Stores
    batch_sources: int = REMOVED
    forget: Forget | None = None

    def remove(self, source_ids: Sequence[str], corpus: str, *, report: Report) -> None:
        """Remove these sources and everything that only they assert; the caller holds the lock of the graph store.

        What caches hold about their texts goes before the sources do: after a kill in between, the texts are still known.

        Parameters
        ----------
        source_ids : the sources; ids that are not stored are passed over
        corpus : the corpus
        report : receives the counts
        """
        graph = self.stores.graph
        records = graph.records(Kind.SOURCE, source_ids, scope=Scope(corpus))
        found = [record for record in records if isinstance(record, Source)]
        with report.timed("persist"), progress.step("remove", len(found), unit="sources"):
            for start in range(0, len(found), self.batch_sources):
                part = found[start : start + self.batch_sources]
                if self.forget is not None:
                    self.forget(embedded_texts(part, corpus, graph=graph))
                change = removal(corpus, [item.id for item in part], versions=[item.version for item in part])
                outcome = persist(change, self.stores)
                report.count(outcome.added, outcome.vanished)
                report.sources_removed += len(part)
                progress.advance("remove", len(part))


class Resources(Protocol):
    """The open stores, and the models of which some cache vectors."""

    @property
    def opened(self) -> Opened:
        """The stores."""

    @property
    def models(self) -> ChosenModels:
        """The models, made when they are first used."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion from the corpus of the settings: by name, by filter, or everything.

    Attributes
    ----------
    settings, resources : the corpus, the open stores and the models
    on_progress : called with the progress of every step; default none
    """

    settings: Settings
    resources: Resources
    on_progress: OnProgress | None = None

    def run(self, uris: str | Sequence[str], *, where: Where | None, everything: bool) -> Report:
        """Remove the sources.

        Changes of interrupted runs are completed first. What a name stood for when the same command was killed is gone then,
        and counts as deleted.

        Parameters
        ----------
        uris, where, everything : see :meth:`hlgraph.HLGraph.delete`

        Returns
        -------
        Report
        """
        if bool(uris) + (where is not None) + everything != 1:
            raise InputError("say what to delete in one way: uris, a filter, or all of the corpus")
        stores, corpus = self.resources.opened.stores, self.settings.corpus
        names = [uris] if isinstance(uris, str) and uris else list(uris)
        remover = Remover(stores, self.resources.opened.batch_removed, forgetter(self.settings, self.resources.models))
        if not stores.graph.stats(corpus, has_counts=False):
            raise UnknownNameError(f"there is no corpus {corpus!r}; nothing to delete")
        with (
            progress.listening(self.on_progress),
            stores.graph.lock(corpus) as pending,
            Removals(self.settings, "source") as removals,
        ):
            finished = {name for item in pending for name in item.change.removed_sources}
            resumed = resume(pending, stores, corpus=corpus)
            if names:
                chosen, gone = self._by_name(names, removals, finished=finished)
            else:
                chosen, gone = self._by_filter(where, removals)
            ids = list(dict.fromkeys(name for items in chosen.values() for name in items))
            with (
                removals.removing(chosen),
                forgetting(self.settings, corpus, graph=stores.graph, everything=everything) as done,
            ):
                if everything:  # first: if the run is killed after the sources are gone, nothing would drop it
                    _drop_inferred_domain(stores, corpus)
                report = delete_sources(ids, corpus, stores=stores, remover=remover)
                report.resumed, report.sources_gone = resumed, len(gone.difference(ids))
                done.append(report)
        return report

    def _by_name(self, names: Sequence[str], removals: Removals, *, finished: set[str]) -> _Chosen:
        """The sources of these names, those that a change which was just resumed removed (``finished``) among the gone ones."""
        corpus, graph = self.settings.corpus, self.resources.opened.stores.graph
        keys = {name: full_name(name) for name in names}
        noted = removals.of(list(keys.values()))
        # The change may be of a run on another machine, whose notes are not here.
        resumed = {
            name: finished & {each for uri in {name, *names_of(name)} for each in source_ids(corpus, uri)}
            for name in names
        }
        known = {name for name, key in keys.items() if key in noted or resumed[name]}
        distinct = dict.fromkeys(names)
        ids = [each for name in distinct for each in source_ids(corpus, name)]
        sources = [item for item in graph.records(Kind.SOURCE, ids, scope=Scope(corpus)) if isinstance(item, Source)]
        if len(sources) < len(distinct):  # else all are uris: no need to look through a large corpus
            sources = filtered(None, corpus=corpus, graph=graph)
        held = named(sources, names, corpus=corpus, gone=known)
        chosen = {keys[name]: [item.id for item in items] for name, items in held.items()}
        return _Chosen(chosen, _gone(chosen, noted).union(*resumed.values()))

    def _by_filter(self, where: Where | None, removals: Removals) -> _Chosen:
        """The sources that a filter admits; None: all."""
        key = f"where {to_text(where) if where is not None else ''}"
        noted = removals.of([key])
        try:
            found = filtered(where, corpus=self.settings.corpus, graph=self.resources.opened.stores.graph)
        except WhereError:  # no source has the field: they may be gone
            if key not in noted:
                raise
            found = []
        chosen = {key: [item.id for item in found]}
        return _Chosen(chosen, _gone(chosen, noted))


class _Chosen(NamedTuple):
    """What is to be removed: the ids of the stored sources of each name; and ids that the names stood for in a killed run."""

    ids: dict[str, list[str]]
    gone: set[str]


def _gone(chosen: Mapping[str, Sequence[str]], noted: Mapping[str, Noted]) -> set[str]:
    """What these names stood for in a run that was killed, or in one that removed all of it."""
    return {one for name, item in noted.items() if not (item.is_done and chosen[name]) for one in item.ids}


def delete_sources(source_ids: Sequence[str], corpus: str, *, stores: Stores, remover: Remover | None = None) -> Report:
    """Remove sources, and everything that only they assert, from both stores.

    Parameters
    ----------
    source_ids : the sources; ids that are not stored are passed over
    corpus : the corpus
    stores : the open stores
    remover : removes them; None: one that knows of no cache

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
    seen : the report of the ingest; receives the counts. Its failures, and what lies under them (``uri#...``), are protected
    prefixes : uris of folders and files that were read
    corpus : the corpus
    keep : uris that were read
    remover : removes them
    """
    names, protected = set(prefixes), {item.uri for item in seen.failed}
    stores = remover.stores
    with stores.graph.lock(corpus) as pending:
        resume(pending, stores, corpus=corpus)
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
        remover.remove(missing, corpus, report=removed)
        note_kept(removed, before)
    seen.sources_removed += removed.sources_removed
    for kind, number in removed.removed.items():
        seen.removed[kind] = seen.removed.get(kind, 0) + number
    seen.kept = {kind: max(0, number - removed.removed.get(kind, 0)) for kind, number in seen.kept.items()}


def _drop_inferred_domain(stores: Stores, corpus: str) -> None:
    """Remove a domain that a model inferred: it was told by the documents of the corpus, which are deleted."""
    held = domain_of(stores, corpus)
    if held is not None and held.made_by:
        with stores.graph.lock(corpus):
            domain_store(stores).drop(corpus)
