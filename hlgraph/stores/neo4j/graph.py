"""The graph in Neo4j: the GraphStore of a Neo4j server."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.change import Change, ChangeState, Outcome, Pending
from hlgraph.errors import MigrationError, StoreConflictError, StoreCorruptError, StoreError, StoreUnavailableError
from hlgraph.records import Calibration, Hit, Kind, Record, Relationship, Source
from hlgraph.stores import migrate
from hlgraph.stores.batches import batched
from hlgraph.stores.concurrency import WITHOUT_LIMIT, side_by_side
from hlgraph.stores.image.image import FOLLOWED, nothing, one_kind
from hlgraph.stores.image.patching import State
from hlgraph.stores.image.ranker import ImageRanker
from hlgraph.stores.in_process import MENTIONED, PulledRanker, admitted, check_match, page_of_all, renamed
from hlgraph.stores.migrate import Applied
from hlgraph.stores.neo4j import image_changes, journal
from hlgraph.stores.neo4j.copying import Neo4jCopies
from hlgraph.stores.neo4j.derived import (
    Neo4jDerivedStore,
    Neo4jDomainStore,
    Neo4jMaterialiser,
    Neo4jMergeStore,
    Neo4jRebindingStore,
    Neo4jRetentionStore,
)
from hlgraph.stores.neo4j.gds import GdsRanker
from hlgraph.stores.neo4j.image_changes import ReadSteps, state_of
from hlgraph.stores.neo4j.images import Images, RecentRecords, ScopedImage
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.migrations import Neo4jTarget, applied
from hlgraph.stores.neo4j.publish import publish
from hlgraph.stores.neo4j.pull import PAGE, Admitted, Bounds, Filters, Warming, match, pull
from hlgraph.stores.neo4j.reading import Neo4jReader
from hlgraph.stores.neo4j.server import BATCH, Row, Server, Transaction
from hlgraph.stores.protocols import (
    Altered,
    CorpusStats,
    GraphStore,
    IdPage,
    Matched,
    MatchQuery,
    PullShape,
    RankQuery,
    Scope,
    VectorSets,
    check_base,
    read_records,
)
from hlgraph.stores.trace import pulling
from hlgraph.text import ACL
from hlgraph.where import BUILT_IN_FIELDS, Where, check_fields

if TYPE_CHECKING:
    from hlgraph.stores.derived import Clustered, ClusterQuery
    from hlgraph.stores.queries import Limits, ParameterValue, Query, Table
    from hlgraph.subgraph import Subgraph


# Metadata fields of the sources of a corpus, with the types of their values.


_TYPES = {"STRING": "text", "INTEGER": "number", "FLOAT": "number", "BOOLEAN": "truth"}


class Fields(Mapping[str, frozenset[str]]):
    """The metadata fields under the names that filters use; read at first use, since the query reads every source.

    Whether the sources name groups is known without it.

    Parameters
    ----------
    read : reads rows of ``admin/list_fields``
    has_acl : whether a source names groups
    """

    def __init__(self, read: Callable[[], Sequence[Row]], *, has_acl: bool) -> None:
        self._read = read
        self._has_acl = has_acl
        self._types: dict[str, frozenset[str]] = {}

    def _loaded(self) -> dict[str, frozenset[str]]:
        # Not cached_property: before Python 3.12 all objects share its lock, so corpora would wait for each other.
        if not self._types:
            built_in = {key: frozenset({"text"}) for key in sorted(BUILT_IN_FIELDS)}
            self._types = built_in | {row["field"]: _types(row["types"]) for row in self._read()}
        return self._types

    def __getitem__(self, name: str) -> frozenset[str]:
        return self._loaded()[name]

    def __contains__(self, name: object) -> bool:
        return self._has_acl if name == ACL else name in self._loaded()

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())


def _types(names: Sequence[str]) -> frozenset[str]:
    """The types of a field under the names that filters use; empty if a value is not stored as a property."""
    kinds = [re.sub(r"LIST<|>| NOT NULL", "", name).strip() for name in names]
    return frozenset(_TYPES[kind] for kind in kinds) if all(kind in _TYPES for kind in kinds) else frozenset()


# The state of the corpora as last read: versions, models, counts and fields.


COUNTED = tuple(kind for kind in Relationship if kind in FOLLOWED - {Relationship.NEXT, Relationship.CO_OCCURS})
"""The relationships that statistics count: those that are stored."""


class Corpora:
    """The corpora of a database; counts and fields are read once per state. Thread-safe.

    Parameters
    ----------
    server : the database
    images : images of its corpora, which count without a query; None: no images
    on_migrated : called if the newest migration of the database is not the one of this program
    """

    def __init__(self, server: Server, images: Images | None, *, on_migrated: Callable[[], object]) -> None:
        self._server = server
        self._images = images
        self._on_migrated = on_migrated
        self._newest = migrate.discover("neo4j")[-1].version
        self._cached: dict[str, CorpusStats] = {}
        self._known: dict[str, CorpusStats | None] = {}
        self._writers: dict[str | None, int] = {}  # threads of this process that have locked a corpus; None: all
        self._sets: dict[str, VectorSets | None] = {}
        # Read while the corpus is locked: no other process changes them.
        self._locked_sets: dict[str, VectorSets | None] = {}

    @contextlib.contextmanager
    def locked(self, corpus: str | None) -> Iterator[None]:
        """While this thread has locked a corpus, its sets of vectors are those that the thread reads from now on.

        Parameters
        ----------
        corpus : name of the corpus; None: all
        """
        me = threading.get_ident()
        if self._writers.get(corpus) == me:
            yield
            return
        self._writers[corpus] = me
        self._locked_sets = {}
        try:
            yield
        finally:
            self._locked_sets = {}
            del self._writers[corpus]

    def sets(self, corpus: str) -> VectorSets | None:
        """The sets of vectors of a corpus; without its lock those that this process read last.

        Parameters
        ----------
        corpus : name of the corpus
        """
        is_locked = corpus in self._writers or None in self._writers
        cached = self._locked_sets if is_locked else self._sets
        if corpus not in cached:
            rows = self._server.ask("persist/read_vector_sets", corpus=corpus)
            cached[corpus] = _sets_in(rows[0]) if rows else None
        return cached[corpus]

    def stats(
        self, corpus: str | None, *, rows: Sequence[Row], has_counts: bool, has_relationships: bool
    ) -> tuple[CorpusStats, ...]:
        """See :meth:`hlgraph.stores.protocols.GraphStore.stats`.

        Parameters
        ----------
        corpus : name of the corpus; None: all
        rows : the rows of ``retrieve/open_corpus``; empty: the corpus is read, or all of them
        has_counts, has_relationships : what to count
        """
        stats = tuple(
            self._stats(row, has_counts=has_counts, has_relationships=has_relationships)
            for row in rows or self._read(corpus)
        )
        if corpus is not None and not has_counts:
            self._known = {**self._known, corpus: stats[0] if stats else None}
        return stats

    def _read(self, corpus: str | None) -> list[Row]:
        if corpus is None:
            rows = self._server.ask("persist/read_corpora")
        else:
            rows = self._server.ask("persist/read_corpus", corpus=corpus)
        if any(row["newest"] != self._newest for row in rows):
            self._on_migrated()
        return rows

    def known(self, corpus: str) -> CorpusStats | None:
        """See :meth:`GraphStore.known`."""
        return self._known.get(corpus)

    def forget(self) -> None:
        """Forget the states from which searches would start, because this process has changed a corpus."""
        self._known, self._sets, self._locked_sets = {}, {}, {}

    def _stats(self, row: Row, *, has_counts: bool, has_relationships: bool) -> CorpusStats:
        name, version, state = row["name"], row["version"], state_of(row).name
        self._sets[name] = sets = _sets_in(row)
        if threading.get_ident() in (self._writers.get(name), self._writers.get(None)):
            self._locked_sets[name] = sets
        cached = self._cached.get(name)
        if cached is None or (cached.version, cached.state) != (version, state):
            read = functools.partial(self._server.ask, "admin/list_fields", corpus=name)
            fields = Fields(read, has_acl=row["has_acl"])
            cached = CorpusStats(name, version, row["embedding"], row["dimensions"], fields=fields, state=state)
        records, relationships = cached.records, cached.relationships
        if has_counts and not records:
            there = self._images.loaded(name, state) if self._images is not None else None
            counts = (
                self._counts("admin/count_records", name, column="kind") if there is None else there.image.records()
            )
            records = {kind: counts.get(kind.value, 0) for kind in _PAGES}
        if has_counts and has_relationships and not relationships:
            counts = self._counts("admin/count_relationships", name, column="relationship")
            relationships = {kind: counts.get(kind.value, 0) for kind in COUNTED}
        self._cached[name] = stats = replace(
            cached,
            records=records,
            relationships=relationships,
            pending=tuple(row["staged"]),
            renewed_to=row["renewed_to"],
            calibration=msgspec.json.decode(row["calibration"] or "null", type=Calibration | None),
            ids=row["ids"],
            sets=sets,
            co_occurs=row["co_occurs"],
        )
        return replace(stats, fields=dict(stats.fields)) if has_counts else stats

    def _counts(self, query: str, corpus: str, *, column: str) -> dict[str, int]:
        return {str(row[column]): row["number"] for row in self._server.ask(query, corpus=corpus)}


def _sets_in(row: Row) -> VectorSets | None:
    return msgspec.json.decode(row["vector_sets"] or "null", type=VectorSets | None)


_PAGES: Mapping[Kind, str] = {
    Kind.SOURCE: "retrieve/page_sources",
    Kind.CHUNK: "retrieve/page_chunks",
    Kind.TOPIC: "retrieve/page_topics",
    Kind.STATEMENT: "retrieve/page_statements",
    Kind.FACT: "retrieve/page_facts",
    Kind.ENTITY: "retrieve/page_entities",
}
_OF_SOURCES: Mapping[Kind, str] = {
    Kind.CHUNK: "retrieve/find_chunks",
    Kind.TOPIC: "retrieve/find_topics",
    Kind.STATEMENT: "retrieve/find_statements",
}
_ATTEMPTS = 5
_ANY = State(0, "")
T = TypeVar("T")
_LOG = logging.getLogger(__name__)


def _ids(rows: Sequence[Row]) -> list[str]:
    return [row["id"] for row in rows]


class Neo4jGraphStore(GraphStore):
    """Graph of one database; see :class:`hlgraph.stores.protocols.GraphStore`.

    Parameters
    ----------
    server : the database
    images : images of its corpora, on which pulls run; None: the server answers every pull
    wait : seconds to wait for the write lease while another writer holds it; default: no limit

    Attributes
    ----------
    leases : the write leases of this database
    ranker : ranks on the server, or in process if the server cannot
    image_ranker : ranks on an image
    """

    is_remote = True

    def __init__(self, server: Server, *, images: Images | None = None, wait: float = WITHOUT_LIMIT) -> None:
        self._server, self._images = server, images
        self.leases = Leases(server, wait=wait)
        self.ranker, self.image_ranker = GdsRanker(server, fallback=PulledRanker(self)), ImageRanker(self)
        self._chosen: dict[tuple[str, bool, ProjectionShape], str] = {}
        self.derived, self.domains = Neo4jDerivedStore(server, self.leases), Neo4jDomainStore(server, self.leases)
        self.merges = Neo4jMergeStore(server, self.leases, images=images)
        self._corpora = Corpora(server, images, on_migrated=self._look_again)
        self.retention = Neo4jRetentionStore(server, self.leases)
        self.copies = Neo4jCopies(server, self.leases, dropped=self._corpora.forget)
        self._filters, self._warming = Filters(server), Warming(server)
        self._steps = ReadSteps(server) if images is None else images.steps
        self._recent = RecentRecords(server, steps=self._steps)
        self.rebinding = Neo4jRebindingStore(self.leases, changed=self._corpora.forget)
        self._staged: Change | None = None
        self._has_searches = self._has_schema = False

    def close(self) -> None:
        """Close the connections."""
        self.ranker.close()
        self._warming.close(wait=self._server.settings.read_seconds)
        if self._images is not None:
            self._images.close(wait=self._server.settings.read_seconds)
        self._server.close()

    # Writing

    @contextlib.contextmanager
    def lock(self, corpus: str | None = None, *, wait: float | None = None) -> Iterator[tuple[Pending, ...]]:
        """See :meth:`GraphStore.lock`."""
        with contextlib.ExitStack() as locks:
            for _ in range(_ATTEMPTS):
                self._create()
                locks.enter_context(self.leases.held(corpus, wait=wait))
                locks.enter_context(self._corpora.locked(corpus))
                history, pending = self._server.read(
                    lambda transaction: (
                        applied(transaction.rows("admin/read_migrations")),
                        journal.pending(transaction, corpus),
                    )
                )
                self._has_schema = False  # the database may have been replaced
                if self._is_ready(history):
                    break
                locks.close()
            else:
                raise StoreUnavailableError(
                    f"{self._server.url}: the database was emptied each time it was prepared; run the same command again"
                )
            yield pending

    def unfinished(self, corpus: str | None = None) -> tuple[Pending, ...]:
        """See :meth:`GraphStore.unfinished`."""
        if not self._is_ready():
            return ()
        read = functools.partial(self._server.read, functools.partial(journal.pending, corpus=corpus))
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(StoreCorruptError):  # its writer has finished a change while it was read
                return read()
        return read()

    def _create(self) -> None:
        """Create the present schema in a database without corpora, also if its first run was interrupted; else only check it."""
        target = Neo4jTarget(self._server, leases=self.leases)
        if not self._has_schema:
            plan = migrate.plan(target)
            if not plan.applied or (plan.pending and not self._server.ask("persist/read_corpora")):
                target.check_prefix()
                migrate.apply(target)
        self._is_ready()

    def _is_ready(self, history: Sequence[Applied] | None = None) -> bool:
        """Whether the database has the schema; False if it is empty. Raises MigrationError if migrations are pending."""
        if not self._has_schema:
            target = Neo4jTarget(self._server)
            plan = migrate.planned(target.kind, target.history() if history is None else history)
            if plan.applied and plan.pending:
                names = ", ".join(item.label for item in plan.pending)
                raise MigrationError(f"{self._server.url}: the store needs {names}; run: hlgraph migrate apply")
            self._has_schema = not plan.pending
        return self._has_schema

    def _look_again(self) -> None:
        """Check the schema again, because the database has other migrations than this program."""
        self._has_schema = False
        self._is_ready()

    def stage(self, change: Change) -> None:
        """See :meth:`GraphStore.stage`."""

        def work(transaction: Transaction) -> None:
            self.leases.check(transaction, change.corpus)
            if transaction.rows("persist/find_change", id=change.id):
                return
            _check(transaction, change)
            journal.record(transaction, change)

        self._server.write(work, is_repeatable=True)
        self._staged = change

    def advance(self, change_id: str, to: ChangeState, *, beside: Callable[[], object] = tuple) -> Outcome:
        """See :meth:`GraphStore.advance`."""
        outdated: list[str] = []

        def work(transaction: Transaction, finished: Callable[[], object]) -> Outcome:
            self.leases.check(transaction)
            if not (rows := transaction.rows("persist/find_change", id=change_id)):
                if to is ChangeState.DONE:
                    return Outcome()
                raise StoreError(f"change {change_id} is not in the journal; run the same command again")
            outcome = msgspec.msgpack.decode(rows[0]["outcome"], type=Outcome)
            if to is ChangeState.DONE:
                journal.forget(transaction, change_id)
            elif ChangeState(rows[0]["state"]) is ChangeState.STAGED:
                change = self._staged
                if change is None or change.id != change_id:
                    change = journal.find(transaction, change_id).whole()
                outcome = publish(transaction, change)
                vanished = outcome.vanished
                if change.removed_sources and not image_changes.leads_on(transaction, change, vanished=vanished):
                    outdated.append(change.corpus)
                packed = msgspec.msgpack.encode(outcome)
                transaction.rows("persist/advance_change", id=change_id, state="published", outcome=packed)
            finished()
            self.leases.check(transaction)
            return outcome

        with side_by_side(beside) if to is ChangeState.PUBLISHED else contextlib.nullcontext(tuple) as finished:
            outcome = self._server.write(functools.partial(work, finished=finished), is_repeatable=True)
        if self._images is not None:
            for corpus in outdated:
                self._images.forget(corpus)
        if to is ChangeState.PUBLISHED:
            self._corpora.forget()
        else:
            self._staged = None
            self._recent.forget(outcome.vanished)
        return outcome

    # Reading

    def records(self, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        """See :meth:`GraphStore.records`."""
        if kind not in _PAGES or not ids or not self._is_ready():
            return []
        records = self._recent.read(kind, ids, corpus=scope.corpus, state=scope.state)
        if scope.where is None and scope.sources is None:
            return records
        if kind in (Kind.ENTITY, Kind.FACT):
            state = self._state(scope.corpus)
            return renamed(records, scope, graph=self, said=lambda ids: self._filters.said(scope, state, ids=ids))
        return admitted(records, scope, read=lambda names: self.records(Kind.SOURCE, names, scope=Scope(scope.corpus)))

    def entities(self, scope: Scope) -> tuple[str, ...]:
        """See :meth:`GraphStore.entities`."""
        scoped = self.image(scope)
        return super().entities(scope) if scoped is None else tuple(scoped.whole(one_kind(Kind.ENTITY)).ids.tolist())

    def page(self, kind: Kind, scope: Scope, *, after: str = "", size: int) -> IdPage:
        """See :meth:`GraphStore.page`. From an image, if a search would fill one for the scope, else by an index of the server."""
        return _page(self, kind, scope, after=after, size=size) if self._is_ready() else IdPage((), 0)

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        """See :meth:`GraphStore.find`."""
        if kind not in _PAGES or not self._is_ready():
            return iter(())
        is_whole = scope.where is None and scope.sources is None
        if not is_whole and kind not in (*_OF_SOURCES, Kind.SOURCE):
            raise StoreError(f"{kind} records belong to the whole corpus; find them without a filter or sources")
        whole = (_ids(page) for page in self._server.pages(_PAGES[kind], corpus=scope.corpus, size=BATCH))
        pages = whole if is_whole else batched(_inside(self, kind, scope), PAGE)
        return (record for page in pages for record in self.records(kind, page, scope=Scope(scope.corpus)))

    def sources_inside(self, corpus: str, names: Sequence[str]) -> list[Source]:
        """See :meth:`GraphStore.sources_inside`."""
        return _sources_inside(self, corpus, names=names) if names and self._is_ready() else []

    def _state(self, corpus: str) -> State:
        known = self.stats(corpus, has_counts=False)
        return next((State.named(stats.state) or State(stats.version, "") for stats in known), _ANY)

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """See :meth:`GraphStore.pull`."""
        scoped = self.image(scope)
        if scoped is not None:
            with pulling("image", "pull", seeds=seeds, shape=shape, scope=scope) as call:
                graph = scoped.image.pull(seeds, shape, sources=scoped.sources)
                call.rows = len(graph)
            return graph
        subgraph = self._within(scope, functools.partial(pull, seeds=seeds, shape=shape))
        return nothing(shape) if subgraph is None else subgraph

    def own_entities(self, corpus: str, source_ids: Sequence[str]) -> list[str]:
        """See :meth:`GraphStore.own_entities`."""
        if not source_ids or not self._is_ready():
            return []
        return _ids(self._server.ask("retrieve/find_own_entities", corpus=corpus, source_ids=list(source_ids)))

    def match(self, query: MatchQuery, *, scope: Scope) -> list[Matched]:
        """See :meth:`GraphStore.match`."""
        check_match(query)
        scoped = self.image(scope)
        if scoped is not None:
            with pulling("image", "match", seeds=sum(query.names, ()), shape=MENTIONED, scope=scope) as call:
                counts = scoped.image.match(query, sources=scoped.sources)
                call.rows = sum(len(item.ids) for item in counts)
            return counts
        return self._within(scope, functools.partial(match, query=query)) or []

    def image(self, scope: Scope) -> ScopedImage | None:
        """The image of a corpus, restricted to a scope; None if the server must answer."""
        if self._images is None or not self._is_ready():
            return None
        for _ in range(_ATTEMPTS):
            loaded = self._images.loaded(scope.corpus, scope.state) or self._images.current(scope.corpus, scope.state)
            if loaded is None:
                if self._has_searches:
                    self._warming.begin()
                return None
            is_known = self._filters.has(scope, loaded.state)
            admitted = self._filters.admitted(scope, loaded.state)
            if is_known or self._images.state(scope.corpus) == loaded.state:  # the filter was decided on this state
                return ScopedImage(loaded.image, loaded.sources(admitted))
        return None

    def plan_ahead(self) -> None:
        """See :meth:`GraphStore.plan_ahead`."""
        self._has_searches = True
        if self._images is None:
            self._warming.begin()

    def walked_by(self, scope: Scope) -> str:
        """See :meth:`GraphStore.walked_by`."""
        if self._images is None:
            return "server"
        why = self._images.why_not(scope.corpus)
        return f"server: {why}" if why else "image"

    def _within(self, scope: Scope, read: Callable[..., T | None]) -> T | None:
        """The result of ``read(transaction, bounds=...)``; None if there is no such corpus.

        ``read`` returns None if a writer changed the corpus in the meantime; it is then repeated.
        """
        if not self._is_ready():
            return None
        for _ in range(_ATTEMPTS):
            state = _ANY if scope.where is None else self._state(scope.corpus)  # a filter is evaluated for one state
            if scope.where is not None and not state.version:
                return None
            bounds = Bounds(scope.corpus, self._filters.admitted(scope, state), state.version)
            result = self._server.read(functools.partial(read, bounds=bounds))
            if result is not None:
                return result
        raise StoreConflictError(f"corpus {scope.corpus!r} was changed {_ATTEMPTS} times during a pull; ask again")

    def stats(
        self, corpus: str | None = None, *, has_counts: bool = True, has_relationships: bool = True
    ) -> tuple[CorpusStats, ...]:
        """See :meth:`GraphStore.stats`."""
        rows = [] if corpus is None or self._has_schema else self._server.ask("retrieve/open_corpus", corpus=corpus)
        if not self._is_ready(applied(rows[0]["applied"]) if rows else None):
            return ()
        return self._corpora.stats(corpus, rows=rows, has_counts=has_counts, has_relationships=has_relationships)

    def known(self, corpus: str) -> CorpusStats | None:
        """See :meth:`GraphStore.known`."""
        return self._corpora.known(corpus)

    def altered(self, corpus: str, since: str) -> Altered:
        """See :meth:`GraphStore.altered`."""
        return self._steps.altered(corpus, since, to=self._state(corpus))

    def vector_sets(self, corpus: str) -> VectorSets | None:
        """See :meth:`GraphStore.vector_sets`."""
        return self._corpora.sets(corpus) if self._is_ready() else None

    # Ranking and clustering

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`GraphStore.rank`. Ranks on the image if there is one, else on the server.

        If the graph is too large to be ranked as a whole in process, the part around the seeds is ranked on the image, as
        on the embedded store.
        """
        scoped, key = self.image(scope), _key(scope, query.shape)
        if scoped is not None:
            is_large = self.image_ranker.is_large(scoped.image, query.shape)
            self._chosen[key] = f"process: on the image{f', {self.image_ranker.why_large()}' if is_large else ''}"
            return self.image_ranker.rank_on(scoped.image, query, scope=scope, whole=scoped.whole)
        if self._images is not None and self._server.settings.ranking == "process":
            why = self.walked_by(scope).partition(": ")[2] or "there is no image"
            self._chosen[key] = f"process: around the seeds, pulled from the server, since {why}"
            return super().rank(query, scope=scope)
        self._chosen.pop(key, None)
        return self.ranker.rank(query, scope=scope)

    def ranked_by(self, scope: Scope, *, shape: ProjectionShape | None = None) -> str:
        """See :meth:`GraphStore.ranked_by`."""
        choice = None if shape is None else self._chosen.get(_key(scope, shape))
        return choice or self.ranker.ranked_by(scope)

    def projection(self, shape: ProjectionShape, corpus: str) -> str:
        """See :meth:`GraphStore.projection`."""
        return self.ranker.projection(shape, corpus)

    def cluster(self, query: ClusterQuery, *, corpus: str) -> Clustered:
        """See :meth:`GraphStore.cluster`. Clusters on the server, or in process if the server cannot."""
        outcome = self.ranker.projections.clustered(query, corpus)
        if not isinstance(outcome, str):
            return outcome
        _LOG.warning("clustering in process: %s", outcome)
        return super().cluster(query, corpus=corpus)._replace(by=f"process: {outcome}")

    def cypher(self, query: Query, params: Mapping[str, ParameterValue], *, corpus: str, limits: Limits) -> Table:
        """See :meth:`GraphStore.cypher`."""
        return Neo4jReader(self._server, self._admitted).read(query, params, corpus=corpus, limits=limits)

    def _admitted(self, corpus: str, where: Where) -> Admitted:
        for stats in self.stats(corpus, has_counts=False):
            check_fields(where, stats.fields)
        return self._filters.present(Scope(corpus, where), functools.partial(self._state, corpus))

    def write_co_occurs(self, corpus: str) -> int:
        """See :meth:`GraphStore.write_co_occurs`."""
        return Neo4jMaterialiser(self._server, self.leases).write(corpus)

    def drop_co_occurs(self, corpus: str) -> int:
        """See :meth:`GraphStore.drop_co_occurs`."""
        return Neo4jMaterialiser(self._server, self.leases).drop(corpus)


def _check(transaction: Transaction, change: Change) -> None:
    """Raise an error unless a change fits what is stored."""
    ids = sorted(source.id for source in change.sources)
    versions = {row["id"]: row["version"] for row in transaction.collect("persist/read_versions", ids)}
    corpora = transaction.rows("persist/read_corpus", corpus=change.corpus)
    model = next(((row["embedding"], row["dimensions"]) for row in corpora), ("", 0))
    check_base(change, versions=versions, model=model)


def _key(scope: Scope, shape: ProjectionShape) -> tuple[str, bool, ProjectionShape]:
    return scope.corpus, scope.where is not None or scope.sources is not None, shape


def _inside(store: Neo4jGraphStore, kind: Kind, scope: Scope) -> list[str]:
    """The ids of the records of a kind in a scope."""
    names, query = store._filters.sources(scope, store._state(scope.corpus)), _OF_SOURCES.get(kind)
    if scope.where is None:
        names = [item.id for item in store.records(Kind.SOURCE, names, scope=Scope(scope.corpus))]
    if query is None:
        return names
    return sorted(_ids(store._server.read(lambda transaction: transaction.collect(query, names, key="source_ids"))))


def _sources_inside(store: Neo4jGraphStore, corpus: str, *, names: Sequence[str]) -> list[Source]:
    query = "retrieve/find_sources_inside"
    rows = store._server.read(lambda reads: reads.collect(query, names, key="prefixes", corpus=corpus))
    ids = sorted(set(_ids(rows)))
    return list(read_records(store, Source, ids=ids, scope=Scope(corpus)).values())


def _page(store: Neo4jGraphStore, kind: Kind, scope: Scope, *, after: str, size: int) -> IdPage:
    """See :meth:`Neo4jGraphStore.page`; counts once per state of the corpus."""

    def number(of: Kind) -> int:
        return sum(stats.records.get(of, 0) for stats in store.stats(scope.corpus, has_relationships=False))

    if scope.where is None and scope.sources is None:
        ids = _ids(store._server.ask(_PAGES[kind], corpus=scope.corpus, after=after, size=size))
        return IdPage(tuple(ids), number(kind))
    if scope.sources is not None or kind in _OF_SOURCES:
        return page_of_all(store, kind, scope=scope, after=after, size=size)
    scoped = None if kind is Kind.SOURCE else store.image(scope)
    if scoped is not None:
        return scoped.image.page(kind, after=after, size=size, sources=scoped.sources)
    sources = functools.partial(number, Kind.SOURCE)
    state = store._state(scope.corpus)
    return store._filters.page(kind, scope, state=state, after=after, size=size, sources=sources)
