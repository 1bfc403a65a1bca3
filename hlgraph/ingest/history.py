"""The history of a corpus: every version of its sources, and what was true at a moment.

The history of the corpus NAME is the corpus ``NAME@history`` of the same store, so searches of the present read nothing of it.
Each version of a source is a source there, with the same uri and all that it asserts. Its metadata fields ``history_from`` and
``history_to`` say when it was valid, ``history_version_from`` and ``history_version_to`` the same in versions of the corpus; the
present version has no end. A search of the past is a search of that corpus by a filter on these fields, which the request joins to
its own. Versions have the groups of the present source. Those of a source that was removed, whose name another one got, have the
groups that both have.

:func:`synchronise` brings the history up to date, from the stored records and vectors: nothing is extracted or embedded again. It
runs before and after each command that changes sources. What a killed command did not record, the next one does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from operator import attrgetter
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from hlgraph import progress
from hlgraph.change import Change, VectorBlock
from hlgraph.errors import InputError, ModelMismatchError, WhereError
from hlgraph.ids import (
    HISTORY,
    HISTORY_FIELDS,
    HISTORY_MARK,
    WITHOUT_NAME,
    beginnings,
    content_id,
    normalise_name,
    source_id,
    source_ids,
    source_key,
)
from hlgraph.index.embed import check_model, indexed
from hlgraph.ingest.exports import copies_of
from hlgraph.ingest.imports import copy_of
from hlgraph.ingest.report import record_counts
from hlgraph.models.protocols import Embedder
from hlgraph.persist.assemble import removal
from hlgraph.persist.compare import metadata_text
from hlgraph.persist.journal import persist, resume
from hlgraph.records import Entity, Kind, Metadata, MetadataValue, Record, Source, group_by
from hlgraph.resolve.candidates import least_synonym, synonyms
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import CorpusStats, GraphStore, Scope, Stores, base_of, find_records, read_records
from hlgraph.text import ACL, canonical_time
from hlgraph.where import And, Caller, Compare, Exists, Not, Op, Where, fields, metadata_key, refuse_nobody

AsOf: TypeAlias = date | datetime | str | int
"""A moment: a date (the end of that day in UTC), a time, one of them as text, or the number of a version of the corpus."""

FROM, TO, VERSION_FROM, VERSION_TO, _STATE = HISTORY_FIELDS
ANY_MOMENT = Exists(f"metadata.{FROM}")
"""The filter on a history that admits every version."""
_BEGUN, _BEGUN_VERSION = "history_begun", "history_begun_version"
_SEEN, _SEEN_VERSION = "history_seen", "history_seen_version"
_SINCE, _OWN_SINCE = "history_since", "history_own_since"
_EDITS = 500
_VERSIONS = 8  # of a source, looked up at once
_LEAST = timedelta(microseconds=1)


def history_of(corpus: str) -> str:
    """The name of the corpus that holds the history of a corpus."""
    return f"{corpus}{HISTORY}"


def refuse_history(corpus: str) -> None:
    """Raise InputError for the name of a history, which only :func:`synchronise` writes, or of a set of vectors."""
    if base_of(corpus) != corpus:
        raise InputError(
            f"corpus {corpus!r} has the name of a set of vectors of corpus {base_of(corpus)!r}; choose another name"
        )
    if corpus.endswith(HISTORY):
        raise InputError(
            f"corpus {corpus!r} is the history of corpus {corpus.removesuffix(HISTORY)!r} and follows its changes; name that corpus"
        )


def mark_of(stores: Stores, corpus: str) -> Source | None:
    """The source without text that says since when the history of a corpus is kept; None if it is not.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    """
    mark = _mark(corpus).id
    return read_records(stores.graph, Source, ids=[mark], scope=Scope(history_of(corpus))).get(mark)


def _mark(corpus: str, metadata: Metadata | None = None) -> Source:
    return _named(Source("", history_of(corpus), HISTORY_MARK, "", "", metadata or {}))


def _named(source: Source) -> Source:
    return replace(source, id=source_id(source.corpus, source_key(source)))


# Bringing the history up to date.


def keep(stores: Stores, corpus: str) -> None:
    """Keep the history of a corpus from now on, if it is not kept. What is present becomes the first version.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    """
    refuse_history(corpus)
    if not is_kept(stores, corpus):
        with stores.graph.lock(None) as pending:
            resume(pending, stores)
            if stores.graph.stats(history_of(corpus), has_counts=False) and not is_kept(stores, corpus):
                raise InputError(
                    f"corpus {history_of(corpus)!r} is no history, and has the name that the history of {corpus!r} needs; export "
                    "it, import it under another name, and delete it"
                )
            _Synchronisation(stores, corpus).run()
    record(stores, corpus)


def refuse_receipt(stores: Stores, corpus: str) -> None:
    """Raise InputError if a history is kept: a receipt of a deletion that keeps it would say that nothing is left.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    """
    if is_kept(stores, corpus):
        raise InputError(
            f"corpus {corpus!r} keeps the history of deleted sources, so there is no receipt that nothing is left; erase it as "
            "well: hlgraph delete URI --history --receipt FILE; nothing was deleted"
        )


def synchronise(stores: Stores, corpus: str) -> bool:
    """Record what changed since the last call, if a history is kept. A command asks once, and calls :func:`record` at its end.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus

    Returns
    -------
    bool
        Whether a history is kept.
    """
    if not is_kept(stores, corpus):
        return False
    record(stores, corpus)
    return True


def record(stores: Stores, corpus: str, *, removed: Collection[str] = (), is_due: bool = False) -> None:
    """Record what changed since the last call in the history that is kept. Holds the lock of the whole store meanwhile.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    removed : uris of the sources that the command removed. A store tells only their ids: without their uris, all is compared
    is_due : whether to look even if the corpus has not changed, because versions were erased; default False
    """
    mark = mark_of(stores, corpus)
    if is_due or mark is None or mark.metadata.get(_STATE) != _state(stores, corpus):
        with stores.graph.lock(None) as pending:
            resume(pending, stores)
            _Synchronisation(stores, corpus, removed=removed).run()


def is_kept(stores: Stores, corpus: str) -> bool:
    """Whether a history is kept: it has its mark, or a killed synchronisation has just removed that to write it anew.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    """
    name = history_of(corpus)
    if not stores.graph.stats(name, has_counts=False):
        return False
    return mark_of(stores, corpus) is not None or next(iter(stores.graph.find(Kind.SOURCE, Scope(name))), None) is None


def prepare(stores: Stores, corpus: str, *, embedder: Embedder, is_begun: bool) -> bool:
    """Bring the history up to date before an ingest; returns whether one is kept.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    embedder : the model of the ingest
    is_begun : whether the history is kept from now on, if it is not

    Raises
    ------
    ModelMismatchError
        The history has vectors of another model.
    """
    if is_begun:
        keep(stores, corpus)
    elif not synchronise(stores, corpus):
        return False
    check_model(stores.graph.stats(history_of(corpus), has_counts=False), embedder)
    return True


def _stats(stores: Stores, corpus: str) -> CorpusStats:
    return next(iter(stores.graph.stats(corpus, has_counts=False)), CorpusStats(corpus))


def _state(stores: Stores, corpus: str) -> str:
    """What identifies the content of a corpus; of one that was imported, another one than where it was exported."""
    stats = _stats(stores, corpus)
    return f"{stats.version} {stats.state or stores.graph.altered(corpus, '').state}"


@dataclass(slots=True)
class _Plan:
    """What a synchronisation writes.

    Attributes
    ----------
    edits : stored versions with other metadata
    added : new versions by the id of the source that they copy
    ended : the versions that these replace, by the same id
    """

    edits: list[Source] = field(default_factory=list)
    added: dict[str, Source] = field(default_factory=dict)
    ended: dict[str, Source] = field(default_factory=dict)


class _Synchronisation:
    """One synchronisation. Needs the lock of the whole store.

    A version ends in the same change in which the next one begins, so a kill leaves no gap.

    Only sources that changed since the last synchronisation are compared, if the store knows them, the caller names those that were
    removed, and nothing else has written the history since. Otherwise all are. Versions may have been erased: an erasure first
    removes and records their sources.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    removed : see :func:`record`
    """

    def __init__(self, stores: Stores, corpus: str, *, removed: Collection[str] = ()) -> None:
        self._stores = stores
        self._corpus = corpus
        self._name = history_of(corpus)
        self._stats = _stats(stores, corpus)
        self._mark = mark_of(stores, corpus)
        last: Metadata = self._mark.metadata if self._mark else {}
        self._altered = stores.graph.altered(corpus, str(last.get(_SINCE, "")))
        self._own = stores.graph.altered(self._name, str(last.get(_OWN_SINCE, "")))
        self._gone = {each: uri for uri in removed for each in source_ids(corpus, uri)}

    def run(self) -> None:
        """Write all that changed, then the mark."""
        present, versions = self._compared()
        seen = dict(self._mark.metadata) if self._mark else {}
        number = max(self._stats.version, _number(seen.get(_SEEN_VERSION, 0)))
        if self._mark and not versions and self._is_empty() and _stats(self._stores, self._name).embedding:
            persist(
                removal(self._name, [self._mark.id], versions=[self._mark.version]), self._stores
            )  # frees it from its model
            seen = {}
        at = _after(
            [
                *seen.values(),
                *(v.metadata.get(key) for mine in versions.values() for v in mine for key in HISTORY_FIELDS),
            ]
        )
        plan = self._plan(present, versions, at, number)
        with progress.step("history", len(plan.added), unit="sources"):
            for some in batched(plan.edits, _EDITS):
                self._persist(Change("", self._name, sources=tuple(some)))
            if plan.added:
                self._copy(plan)
        begun: Metadata = {_BEGUN: at, _BEGUN_VERSION: number, **seen}
        now: Metadata = {_SEEN: at, _SEEN_VERSION: number, _STATE: _state(self._stores, self._corpus)}
        if self._altered.state:
            own = self._stores.graph.altered(self._name, "").state
            now = {**now, _SINCE: self._altered.state, _OWN_SINCE: own}
        self._persist(Change("", self._name, sources=(_mark(self._corpus, {**begun, **now}),)))

    def _is_empty(self) -> bool:
        return record_counts(self._name, self._stores)[Kind.SOURCE] <= 1  # the mark

    def _compared(self) -> tuple[list[Source], dict[str, list[Source]]]:
        """The present sources that may have changed, and the versions to compare them with, by uri."""
        graph, scope = self._stores.graph, Scope(self._corpus)
        edited, removed = self._altered.sources, self._altered.removed
        is_ours = self._mark is not None and self._own.sources is not None and self._own.sources <= {self._mark.id}
        if is_ours and edited is not None and removed <= self._gone.keys():
            present = list(read_records(graph, Source, ids=sorted(edited | removed), scope=scope).values())
            uris = {*(source.uri for source in present), *(self._gone[name] for name in removed)}
            return present, versions_of(self._stores.graph, self._name, uris=sorted(uris))
        return list(find_records(graph, Source, scope=scope)), _versions(self._stores, self._name)

    def _plan(self, present: Sequence[Source], versions: Mapping[str, Sequence[Source]], at: str, number: int) -> _Plan:
        plan = _Plan()
        left = {uri for uri, mine in versions.items() if _is_open(mine[-1])}
        for source in present:
            left.discard(source.uri)
            mine = versions.get(source.uri, ())
            latest = mine[-1] if mine and _is_open(mine[-1]) else None
            is_same = latest is not None and _content(latest) == _content(source)
            if not is_same:
                plan.added[source.id] = self._version(source, (mine[-1].version if mine else 0) + 1, at, number)
            first = _first(mine)
            for count, version in enumerate(mine):
                shown = _with_groups(version, source, is_before=count < first)
                if version is latest and not is_same:
                    plan.ended[source.id] = _ended(shown, at, number)
                elif shown.metadata != version.metadata:
                    plan.edits.append(shown)
        plan.edits.extend(_ended(versions[uri][-1], at, number) for uri in sorted(left))
        return plan

    def _version(self, source: Source, count: int, at: str, number: int) -> Source:
        own: Metadata = {FROM: at, VERSION_FROM: number, _STATE: str(source.version)}
        metadata = {**{key: value for key, value in source.metadata.items() if key not in HISTORY_FIELDS}, **own}
        return _named(
            replace(source, corpus=self._name, version=count, metadata=metadata, valid_from=at, valid_to=None)
        )

    def _copy(self, plan: _Plan) -> None:
        """Write new versions with all that they assert, and end those that they replace."""
        stored = _stats(self._stores, self._name)
        if stored.embedding and (stored.embedding, stored.dimensions) != (
            self._stats.embedding,
            self._stats.dimensions,
        ):
            raise ModelMismatchError(
                f"corpus {self._name!r} has vectors of {stored.embedding}, and the present ones are of {self._stats.embedding}; "
                f"use that model, or delete the corpus with its history: hlgraph delete --all --corpus {self._corpus}"
            )
        for read in copies_of(self._stores).reader(self._corpus).sources(among=list(plan.added)):
            change, old = copy_of(read, plan.added, scheme=WITHOUT_NAME)
            ended = [plan.ended[source.id] for source in read.sources if source.id in plan.ended]
            self._persist(replace(self._embedded(change, old), sources=(*ended, *change.sources)))
            progress.advance("history", len(read.sources))

    def _embedded(self, change: Change, old: Mapping[str, str]) -> Change:
        """The change with the vectors of the records that it copies, and synonyms."""
        titles = {source.id: source.title for source in change.sources}
        names = {link.entity_id: normalise_name(link.surface) for link in change.mentions}
        known = self._stores.vectors.ids(Kind.ENTITY, self._name, among=change.entities)
        entities = [Entity(name, self._name, names[name]) for name in change.entities if name not in known]
        records: dict[Kind, Sequence[Record]] = {
            Kind.CHUNK: change.chunks,
            Kind.TOPIC: change.topics,
            Kind.STATEMENT: change.statements,
            Kind.ENTITY: entities,
        }
        blocks = {kind: self._block(kind, some, old, titles) for kind, some in records.items()}
        new = blocks[Kind.ENTITY]
        pairs = synonyms(
            names,
            new.ids,
            matrix=new.matrix(),
            corpus=self._name,
            stores=self._stores,
            least=least_synonym(self._stats.calibration),
        )
        return replace(
            change,
            embedding=self._stats.embedding,
            dimensions=self._stats.dimensions,
            vectors=tuple(block for block in blocks.values() if block.ids),
            synonyms=tuple(pairs),
        )

    def _block(
        self, kind: Kind, records: Sequence[Record], old: Mapping[str, str], titles: Mapping[str, str]
    ) -> VectorBlock:
        by_old = {old[record.id]: record for record in records}
        ids, matrix = self._stores.vectors.vectors(kind, self._corpus, ids=list(by_old))
        return VectorBlock.of(kind, indexed([by_old[name] for name in ids], titles), matrix=matrix)

    def _persist(self, change: Change) -> None:
        stored = read_records(
            self._stores.graph, Source, ids=[source.id for source in change.sources], scope=Scope(self._name)
        )
        bases = tuple(stored[source.id].version if source.id in stored else 0 for source in change.sources)
        states = [f"{source.id}:{metadata_text(source.metadata)}" for source in change.sources]
        name = content_id("history", self._name, *sorted(states))
        persist(replace(change, id=name, base_versions=bases), self._stores)


def _versions(stores: Stores, name: str) -> dict[str, list[Source]]:
    """The versions of all sources of a history by uri, in order."""
    sources = find_records(stores.graph, Source, scope=Scope(name))
    versions = (source for source in sources if source.uri != HISTORY_MARK)
    return group_by(sorted(versions, key=attrgetter("version")), lambda source: source.uri)


def versions_of(graph: GraphStore, name: str, *, uris: Iterable[str]) -> dict[str, list[Source]]:
    """The versions of these sources by uri, in order. Their numbers have no gaps, so their ids are known.

    Parameters
    ----------
    graph : the graph store
    name : the corpus of the history
    uris : the uris; those that no version has are left out
    """
    versions: dict[str, list[Source]] = {}
    left, first = [uri for uri in uris if uri != HISTORY_MARK], 1
    while left:
        numbers = range(first, first + _VERSIONS)
        ids = [_named(Source("", name, uri, "", "", version=number)).id for uri in left for number in numbers]
        some = read_records(graph, Source, ids=ids, scope=Scope(name)).values()
        for source in sorted(some, key=attrgetter("version")):
            versions.setdefault(source.uri, []).append(source)
        first += _VERSIONS
        left = [uri for uri in left if len(versions.get(uri, ())) == first - 1]
    return versions


def _number(value: object) -> int:
    return int(str(value))


def latest_versions(stores: Stores, corpus: str, *, among: Collection[str] | None) -> list[Source]:
    """The latest version of each source that is or was in a corpus, as a source of that corpus, for choosing which to erase.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    among : uris of sources, and of the files and folders that they are in; None: all
    """
    name = history_of(corpus)
    if among is None:
        versions = _versions(stores, name)
    else:
        inside = {source.uri for source in stores.graph.sources_inside(name, beginnings(among))}
        versions = versions_of(stores.graph, name, uris=sorted(inside.union(among)))
    return [replace(mine[-1], corpus=corpus, id=source_id(corpus, uri)) for uri, mine in versions.items()]


def _is_open(version: Source) -> bool:
    return TO not in version.metadata


def _content(source: Source) -> tuple[str, ...]:
    """What makes a version of a source: its text, how it was extracted, its title, and its metadata without groups."""
    state = str(source.metadata.get(_STATE, source.version))
    metadata = {key: value for key, value in source.metadata.items() if key != ACL and key not in HISTORY_FIELDS}
    return source.checksum, state, source.title, metadata_text(metadata)


def _first(versions: Sequence[Source]) -> int:
    """The number of versions before the source was added last: each later one begins when the one before it ends."""
    count = len(versions)
    if versions and _is_open(versions[-1]):
        count -= 1
        while count and versions[count - 1].metadata[TO] == versions[count].metadata[FROM]:
            count -= 1
    return count


def _with_groups(version: Source, source: Source, *, is_before: bool) -> Source:
    """A version with the groups of the present source; before that was added, with those of its own that it has, too."""
    metadata = {key: value for key, value in version.metadata.items() if key != ACL}
    groups, own = source.metadata.get(ACL, ()), version.metadata.get(ACL, ())
    if is_before and own != groups:
        groups = tuple(sorted(set(_listed(own)) & set(_listed(groups))))
    return replace(version, metadata=metadata if groups == () else {**metadata, ACL: groups})


def _listed(value: MetadataValue) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)


def _ended(version: Source, at: str, number: int) -> Source:
    return replace(version, metadata={**version.metadata, TO: at, VERSION_TO: number}, valid_to=at)


def _after(values: Iterable[object]) -> str:
    """Now, or the least instant after all of these instants, if the clock went backwards."""
    last = max((value for value in values if isinstance(value, str) and "T" in value), default="")
    now = datetime.now(UTC)
    return str(canonical_time(max(now, datetime.fromisoformat(last) + _LEAST) if last else now))


# Reading the past.


def known_moment(stores: Stores, corpus: str, *, as_of: AsOf) -> Where:
    """The filter of :func:`moment` without fields that no version has, for queries that refuse those.

    Parameters
    ----------
    stores, corpus, as_of : see :func:`moment`
    """
    then = moment(stores, corpus, as_of=as_of)
    stored = _stats(stores, history_of(corpus)).fields
    return then if not isinstance(then, And) or TO in stored else then.parts[0]


def moment(stores: Stores, corpus: str, *, as_of: AsOf, has_versions: bool = True) -> Where:
    """The filter on the history of a corpus that admits what was present at a moment.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    as_of : the moment
    has_versions : whether the number of a version may be given

    Raises
    ------
    InputError
        No history is kept, or the moment is before it, in the future, or no moment.
    """
    mark = kept(stores, corpus)
    begun, first = str(mark.metadata[_BEGUN]), _number(mark.metadata[_BEGUN_VERSION])
    at = _parsed(as_of)
    if isinstance(at, int):
        if not has_versions:
            raise InputError("as_of is the number of a version, which only operators see; give a date or a time")
        last = max(_stats(stores, corpus).version, _number(mark.metadata[_SEEN_VERSION]))
        if not first <= at <= last:
            raise InputError(f"as_of is version {at}; the history of corpus {corpus!r} has versions {first} to {last}")
        return at_version(at)
    if at < begun:
        number = f" (version {first})" if has_versions else ""
        raise InputError(
            f"as_of is {at}, and the history of corpus {corpus!r} begins at {begun}{number}; ask for a later time"
        )
    return _between(FROM, at, TO)


class Past(NamedTuple):
    """How the past of a corpus is read: the corpus, the filter that admits the moment, and who asks."""

    corpus: str
    moment: Where
    caller: Caller | None


def past_of(corpus: str, caller: Caller | None, *, stores: Stores, where: Where | None, as_of: AsOf | None) -> Past:
    """How a caller reads the past of a corpus: with the groups that the sources have today.

    Parameters
    ----------
    corpus : the corpus
    caller : who asks; None: no caller is named
    stores : the stores
    where : the filter of the caller
    as_of : the moment; None: all versions

    Raises
    ------
    InputError, WhereError : see :func:`moment`, and the filter names fields that only serve the history
    AccessError : a source names groups, and no caller is named
    """
    refuse_own_fields(where)
    has_versions = caller is None or caller.operates
    then = ANY_MOMENT if as_of is None else moment(stores, corpus, as_of=as_of, has_versions=has_versions)
    if caller is None:
        refuse_nobody(corpus, _stats(stores, corpus).fields)
    else:
        caller = _of_today(caller, corpus, stores=stores)
    return Past(history_of(corpus), then, caller)


def _of_today(caller: Caller, corpus: str, *, stores: Stores) -> Caller:
    """A caller who sees the versions of a source if it sees the source now.

    After a change of groups that was killed, and after an import, the versions have the groups of before until the next command
    that writes. All sources are compared then, once for each state of both corpora.

    Parameters
    ----------
    caller : who asks
    corpus : the corpus
    stores : the stores
    """
    mark, state = mark_of(stores, corpus), _state(stores, corpus)
    if caller.operates or mark is None or mark.metadata.get(_STATE) == state:
        return caller
    states = (state, _state(stores, history_of(corpus)))
    known = _REGROUPED.setdefault(stores.graph, {})
    if known.get(corpus, ((), ()))[0] != states:
        known[corpus] = (states, _regrouped(stores, corpus))
    seen = [(uri, caller.sees(was), caller.sees(now), is_one) for uri, was, now, is_one in known[corpus][1]]
    opened = tuple(uri for uri, was, now, is_one in seen if now and not was and is_one)
    return replace(caller, opened=opened, closed=tuple(uri for uri, was, now, _ in seen if was and not now))


_Regrouped: TypeAlias = tuple[tuple[str, MetadataValue | None, MetadataValue | None, bool], ...]
_REGROUPED: WeakKeyDictionary[GraphStore, dict[str, tuple[tuple[str, ...], _Regrouped]]] = WeakKeyDictionary()


def _regrouped(stores: Stores, corpus: str) -> _Regrouped:
    """The sources whose latest version has other groups than the present one: the uri, both groups, and whether all versions are
    of that source, and none of one that was removed before it was added."""
    present = find_records(stores.graph, Source, scope=Scope(corpus))
    now = {source.uri: source.metadata.get(ACL) for source in present}
    versions = _versions(stores, history_of(corpus)).items()
    was = {uri: (mine[-1].metadata.get(ACL), not _first(mine)) for uri, mine in versions if uri in now}
    return tuple((uri, own, now[uri], is_one) for uri, (own, is_one) in sorted(was.items()) if own != now[uri])


def refuse_own_fields(where: Where | None) -> None:
    """Raise WhereError for a filter on the fields that only serve the history, which tell versions of the corpus.

    Parameters
    ----------
    where : the filter of a search of the past
    """
    own = sorted(name for name in ([] if where is None else fields(where)) if metadata_key(name) in HISTORY_FIELDS)
    if own:
        raise WhereError(f"no source has a field {own[0]!r}; as_of says which versions are searched")


def kept(stores: Stores, corpus: str) -> Source:
    """The mark of the history of a corpus. Raises InputError if no history is kept.

    Parameters
    ----------
    stores : the stores
    corpus : the corpus
    """
    mark = mark_of(stores, corpus)
    if mark is None:
        raise InputError(
            f"corpus {corpus!r} keeps no history, so only the present can be asked; to keep it from now on: hlgraph ingest "
            f"--keep-history --corpus {corpus}"
        )
    return mark


def at_version(number: int) -> Where:
    """The filter on a history that admits what was present at a version of the corpus, which may be before the history.

    Parameters
    ----------
    number : the version
    """
    return _between(VERSION_FROM, number, VERSION_TO)


def _between(since: str, at: str | int, until: str) -> Where:
    ended = Not(Compare(f"metadata.{until}", Op.LE, at))
    return And((Compare(f"metadata.{since}", Op.LE, at), ended))


def _parsed(as_of: AsOf) -> str | int:
    """The number of a version, or an instant in canonical form that is not in the future."""
    if (isinstance(as_of, int) and not isinstance(as_of, bool)) or (
        isinstance(as_of, str) and as_of.isdecimal() and as_of.isascii()
    ):
        return int(as_of)
    text = str(canonical_time(as_of.strip() if isinstance(as_of, str) else as_of))
    now = datetime.now(UTC)
    try:
        day = date.fromisoformat(text) if len(text) == len("2024-03-05") else None
        instant = datetime.fromisoformat(text) if day is None else datetime.combine(day, time.max, UTC)
    except ValueError:
        instant, day = None, None
    if instant is None or instant.tzinfo is None:
        raise InputError(
            f"as_of is {as_of!a:.60}; give a date (2024-03-05), a time (2024-03-05T10:30:00+01:00), or the number of a version"
        )
    if day == now.date():
        return str(canonical_time(now))
    if instant > now:
        raise InputError(f"as_of is {as_of!s:.60}, which is in the future; give a time of the past")
    return str(canonical_time(instant))
