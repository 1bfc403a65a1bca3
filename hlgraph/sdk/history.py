"""The versions of the sources of a corpus, and what it says at one moment and not at another; see :mod:`hlgraph.ingest.history`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import NamedTuple

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.ids import shown
from hlgraph.ingest.delete import full_name
from hlgraph.ingest.exports import copies_of
from hlgraph.ingest.history import (
    ANY_MOMENT,
    FROM,
    TO,
    VERSION_FROM,
    VERSION_TO,
    AsOf,
    at_version,
    history_of,
    keep,
    kept,
    moment,
    versions_of,
)
from hlgraph.records import Fact, Kind, Relationship, Source
from hlgraph.sdk.arguments import checked
from hlgraph.stores.batches import batched
from hlgraph.stores.one_state import in_one_state
from hlgraph.stores.protocols import CorpusStats, PullShape, Scope, Stores, find_records, read_records
from hlgraph.where import BUILT_IN_FIELDS, Where


class SourceVersion(NamedTuple):
    """A version of a source, and when it was valid.

    Attributes
    ----------
    uri, title : of the source
    number : 1 for the first version in the history
    valid_from, valid_to : instants in UTC; ``valid_to`` is None for the present version
    version_from, version_to : the versions of the corpus
    """

    uri: str
    title: str
    number: int
    valid_from: str
    valid_to: str | None
    version_from: int
    version_to: int | None


class Said(NamedTuple):
    """A statement of a source."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class CorpusDiff:
    """What a corpus says at one moment and not at another.

    Attributes
    ----------
    sources_added, sources_removed, sources_changed : uris
    statements_added, statements_removed : statements
    facts_added, facts_removed : facts in words, if no source asserts them at the other moment
    """

    sources_added: tuple[str, ...]
    sources_removed: tuple[str, ...]
    sources_changed: tuple[str, ...]
    statements_added: tuple[Said, ...]
    statements_removed: tuple[Said, ...]
    facts_added: tuple[str, ...]
    facts_removed: tuple[str, ...]


class ChangeSet(NamedTuple):
    """What one ingest, edit or deletion did, as the history keeps it.

    Attributes
    ----------
    id : the version of the corpus after it
    at : when it was recorded, in UTC
    version_before : the version after the change set before it; None for the first one
    sources_added, sources_removed, sources_changed : uris
    statements_added, statements_removed, facts_added, facts_removed : counts, as of :meth:`History.diff`
    """

    id: int
    at: str
    version_before: int | None
    sources_added: tuple[str, ...]
    sources_removed: tuple[str, ...]
    sources_changed: tuple[str, ...]
    statements_added: int
    statements_removed: int
    facts_added: int
    facts_removed: int


class _Side(NamedTuple):
    """One moment of a comparison: its filter, the ids of its versions by uri."""

    where: Where
    ids: dict[str, str]


class _Assertions(NamedTuple):
    """What versions of sources assert: statements, and the ids of facts."""

    statements: set[Said]
    facts: set[str]


@checked
@dataclass(frozen=True, slots=True)
class History:
    """The history of one corpus. :meth:`hlgraph.HLGraph.search` and ``answer`` ask it with ``as_of``.

    Parameters
    ----------
    corpus, stores : the corpus, and the open stores

    Examples
    --------
    ::

        graph.history.keep()
        graph.ingest("docs/")
        print(graph.history.diff("2024-03-01", "2024-04-01").facts_added)
    """

    corpus: str
    stores: Stores

    def keep(self) -> None:
        """Keep the history from now on, if it is not kept. What is in the corpus becomes its first version; it stays on.

        Raises
        ------
        InputError : another corpus has the name of the history
        """
        keep(self.stores, self.corpus)

    def versions(self, uri: str) -> tuple[SourceVersion, ...]:
        """The versions of a source, oldest first.

        Parameters
        ----------
        uri : uri of the source, or path of its file

        Raises
        ------
        InputError : no history is kept
        UnknownNameError : the history has no such source
        """
        kept(self.stores, self.corpus)
        name = history_of(self.corpus)
        uris = {uri, full_name(uri)}
        by_uri = in_one_state(self.stores, name, read=lambda: versions_of(self.stores.graph, name, uris=sorted(uris)))
        versions = sorted((each for mine in by_uri.values() for each in mine), key=attrgetter("version"))
        if not versions:
            raise UnknownNameError(f"{uri}: the history of corpus {self.corpus!r} has no source of this uri or path")
        return tuple(map(_shown, versions))

    def diff(self, before: AsOf, after: AsOf | None = None) -> CorpusDiff:
        """What the corpus says at one moment and not at another.

        Parameters
        ----------
        before, after : the moments, as for ``as_of`` of :meth:`hlgraph.HLGraph.search`; ``after`` None: now

        Raises
        ------
        InputError : no history is kept, or a moment is before it or in the future
        """
        last = datetime.now(UTC) if after is None else after
        return self._diff([moment(self.stores, self.corpus, as_of=at) for at in (before, last)])

    def changes(self, last: int = 10) -> tuple[ChangeSet, ...]:
        """The change sets of the history, oldest first: one for each ingest, edit or deletion that was recorded.

        A change set consists of the versions that began or ended with it, so it names no source whose history was deleted.

        Parameters
        ----------
        last : maximum number of change sets, the latest ones (default 10); each is compared as by :meth:`diff`

        Raises
        ------
        InputError : no history is kept, or ``last`` is below 1
        """
        if last < 1:
            raise InputError(f"last is {last}; give a number from 1")
        kept(self.stores, self.corpus)
        name = history_of(self.corpus)
        return in_one_state(self.stores, name, read=lambda: tuple(self._changes(last)))

    def diff_of(self, change: int) -> CorpusDiff:
        """What one change set added and removed.

        Parameters
        ----------
        change : the id of a change set

        Raises
        ------
        InputError : no history is kept
        UnknownNameError : it has no such change set
        """
        kept(self.stores, self.corpus)
        if change not in self._instants():
            raise UnknownNameError(
                f"the history of corpus {self.corpus!r} has no change set {change}; to list them: hlgraph history changes"
            )
        return self._diff([at_version(change - 1), at_version(change)])

    def _changes(self, last: int) -> Iterator[ChangeSet]:
        instants = sorted(self._instants().items())
        for place in range(max(0, len(instants) - last), len(instants)):
            number, at = instants[place]
            diff = _compared(self.stores, history_of(self.corpus), [at_version(number - 1), at_version(number)])
            yield ChangeSet(
                *(number, at, instants[place - 1][0] if place else None),
                *(diff.sources_added, diff.sources_removed, diff.sources_changed),
                *(len(diff.statements_added), len(diff.statements_removed)),
                *(len(diff.facts_added), len(diff.facts_removed)),
            )

    def _instants(self) -> dict[int, str]:
        """When each change set was recorded, by the version of the corpus after it."""
        instants: dict[int, str] = {}
        versions = find_records(self.stores.graph, Source, scope=Scope(history_of(self.corpus), ANY_MOMENT))
        for values in (version.metadata for version in versions):
            for number, at in ((values.get(VERSION_FROM), values[FROM]), (values.get(VERSION_TO), values.get(TO))):
                if number is not None:
                    key = int(str(number))
                    instants[key] = max(instants.get(key, ""), str(at))
        return instants

    def _diff(self, sides: Sequence[Where]) -> CorpusDiff:
        name = history_of(self.corpus)
        return in_one_state(self.stores, name, read=lambda: _compared(self.stores, name, sides))


def counts_at(stores: Stores, corpus: str, *, as_of: AsOf) -> CorpusStats:
    """The counts of records at a moment, and the fields of the sources then. Reads every source and statement of the moment.

    Parameters
    ----------
    stores, corpus, as_of : see :func:`hlgraph.ingest.history.moment`
    """
    name, graph = history_of(corpus), stores.graph
    scope = Scope(name, moment(stores, corpus, as_of=as_of))

    def read() -> CorpusStats:
        (stored,) = graph.stats(name, has_counts=False)
        ids = {kind: [record.id for record in graph.find(kind, scope)] for kind in _OF_SOURCES}
        facts: set[str] = set()
        for some in batched(ids[Kind.STATEMENT], _STATEMENTS):
            pulled = graph.pull(some, _SUPPORTED, scope=scope)
            facts.update(str(pulled.ids[at]) for at in pulled.nodes(Kind.FACT))
        records = {kind: len(some) for kind, some in ids.items()}
        records |= {Kind.FACT: len(facts), Kind.ENTITY: len(graph.entities(scope))}
        sources = read_records(graph, Source, ids=ids[Kind.SOURCE], scope=scope).values()
        fields = {field for source in sources for field in shown(source).metadata}
        known = {field: kinds for field, kinds in stored.fields.items() if field in fields | BUILT_IN_FIELDS}
        return CorpusStats(
            corpus, embedding=stored.embedding, dimensions=stored.dimensions, records=records, fields=known
        )

    return in_one_state(stores, name, read=read)


_OF_SOURCES = (Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT)
_STATEMENTS = 5_000
_SUPPORTED = PullShape.along(Relationship.SUPPORTS, fan_out=1_000, node_cap=1_000_000)


def _shown(source: Source) -> SourceVersion:
    values = source.metadata
    until = values.get(VERSION_TO)
    return SourceVersion(
        *(source.uri, source.title, source.version, str(values[FROM]), source.valid_to),
        *(int(str(values[VERSION_FROM])), None if until is None else int(str(until))),
    )


def _compared(stores: Stores, name: str, moments: Sequence[Where]) -> CorpusDiff:
    old, new = (
        _Side(where, {s.uri: s.id for s in find_records(stores.graph, Source, scope=Scope(name, where))})
        for where in moments
    )
    gone, come = (
        _asserted(stores, name, set(a.ids.values()) - set(b.ids.values())) for a, b in ((old, new), (new, old))
    )
    return CorpusDiff(
        *(tuple(sorted(new.ids.keys() - old.ids.keys())), tuple(sorted(old.ids.keys() - new.ids.keys()))),
        tuple(sorted(uri for uri in old.ids.keys() & new.ids.keys() if old.ids[uri] != new.ids[uri])),
        *(tuple(sorted(come.statements - gone.statements)), tuple(sorted(gone.statements - come.statements))),
        _facts(stores, name, come.facts - gone.facts, absent=old.where),
        _facts(stores, name, gone.facts - come.facts, absent=new.where),
    )


def _asserted(stores: Stores, name: str, sources: set[str]) -> _Assertions:
    assertions = _Assertions(set(), set())
    for change in copies_of(stores).reader(name).sources(among=sorted(sources)) if sources else ():
        uris = {source.id: source.uri for source in change.sources}
        assertions.statements.update(Said(uris[row.source_id], row.text) for row in change.statements)
        assertions.facts.update(row.fact_id for row in change.facts)
    return assertions


def _facts(stores: Stores, name: str, ids: set[str], *, absent: Where) -> tuple[str, ...]:
    """The facts in words that no source asserts at the other moment."""
    wanted = sorted(ids)
    asserted = {record.id for record in stores.graph.records(Kind.FACT, wanted, scope=Scope(name, absent))}
    facts = read_records(stores.graph, Fact, ids=[one for one in wanted if one not in asserted], scope=Scope(name))
    return tuple(sorted({fact.text for fact in facts.values()}))
