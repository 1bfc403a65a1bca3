"""The graph in Neo4j: the GraphStore of a Neo4j server."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from hlgraph.change import Change, ChangeState, Outcome, Pending
from hlgraph.errors import MigrationError, ModelMismatchError, StoreConflictError, StoreCorruptError, StoreError
from hlgraph.records import Kind, Record
from hlgraph.stores import migrate
from hlgraph.stores.image.image import nothing
from hlgraph.stores.matching import MENTIONED, admitted, check_match
from hlgraph.stores.migrate import Applied
from hlgraph.stores.neo4j import image_changes, journal
from hlgraph.stores.neo4j.admitted import PAGE, Filters
from hlgraph.stores.neo4j.corpora import Corpora, maps
from hlgraph.stores.neo4j.image_changes import ReadSteps, State
from hlgraph.stores.neo4j.images import Images, ScopedImage
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.leases import Leases
from hlgraph.stores.neo4j.migrations import Neo4jTarget, applied
from hlgraph.stores.neo4j.publish import publish
from hlgraph.stores.neo4j.pull import Bounds, match, pull
from hlgraph.stores.neo4j.recent import RecentRecords
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import BATCH, Server, Transaction
from hlgraph.stores.neo4j.warming import Warming
from hlgraph.stores.protocols import CorpusStats, Matched, MatchQuery, PullShape, Scope
from hlgraph.stores.side_by_side import side_by_side
from hlgraph.stores.trace import pulling
from hlgraph.stores.waiting import WITHOUT_LIMIT

if TYPE_CHECKING:
    from hlgraph.subgraph import Subgraph

_OF_A_SOURCE = (Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT)
_ATTEMPTS = 5
_ANY = State(0, "")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Read(Protocol[T_co]):
    """A read within bounds; None if a writer changed the corpus meanwhile."""

    def __call__(self, transaction: Transaction, /, *, bounds: Bounds) -> T_co | None: ...


class Neo4jGraphStore:
    """Graph of one database; see :class:`hlgraph.stores.protocols.GraphStore`.

    Parameters
    ----------
    server : the database
    images : images of its corpora, on which pulls run; None: the server answers every pull
    wait : seconds to wait for the right to write while another writer has it; default: without limit

    Attributes
    ----------
    leases : the rights to write, shared with the other stores of this database
    """

    def __init__(self, server: Server, *, images: Images | None = None, wait: float = WITHOUT_LIMIT) -> None:
        self._server = server
        self._images = images
        self.leases = Leases(server, wait=wait)
        self._filters = Filters(server)
        self._recent = RecentRecords(server, steps=ReadSteps(server) if images is None else images.steps)
        self._warming = Warming(server)
        self._has_searches = False
        self._corpora = Corpora(server, images, on_migrated=self._look_again)
        self._staged: Change | None = None
        self._has_schema = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What they ask for has no deadline. Closing the server ends it, if it does not end by itself.
        seconds = self._server.settings.read_seconds
        self._warming.close(wait=seconds)
        if self._images is not None:
            self._images.close(wait=seconds)
        self._server.close()

    # Writing

    @contextlib.contextmanager
    def lock(self, corpus: str | None = None, *, wait: float | None = None) -> Iterator[tuple[Pending, ...]]:
        """See :meth:`GraphStore.lock`."""
        with contextlib.ExitStack() as held:
            for _ in range(_ATTEMPTS):
                self._create()
                held.enter_context(self.leases.held(corpus, wait=wait))
                history, pending = self._server.read(functools.partial(self._begun, corpus=corpus))
                self._has_schema = False  # another database may have taken the place of the one that was seen
                if self._is_ready(history):
                    break
                held.close()
            yield pending

    def _begun(self, transaction: Transaction, *, corpus: str | None) -> tuple[list[Applied], tuple[Pending, ...]]:
        """The migrations that ran in the database, and the unfinished changes of a corpus."""
        return applied(transaction.rows("admin/read_migrations")), journal.pending(transaction, corpus)

    def unfinished(self, corpus: str | None = None) -> tuple[Pending, ...]:
        """See :meth:`hlgraph.stores.protocols.Journal.unfinished`."""
        if not self._is_ready():
            return ()
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(StoreCorruptError):  # its writer has finished a change while it was read
                return self._server.read(functools.partial(journal.pending, corpus=corpus))
        return self._server.read(functools.partial(journal.pending, corpus=corpus))

    def _create(self) -> None:
        """Creates the present schema in an empty database; only checks a database that has one."""
        target = Neo4jTarget(self._server, leases=self.leases)
        if not self._has_schema and not migrate.plan(target).applied:
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
        """Looks at the schema of a database that has others migrations than those of this program."""
        self._has_schema = False
        self._is_ready()

    def stage(self, change: Change) -> None:
        """See :meth:`GraphStore.stage`."""

        def work(transaction: Transaction) -> None:
            self.leases.check(transaction, change.corpus)
            if transaction.rows("persist/find_change", id=change.id):
                return
            self._check_versions(transaction, change)
            self._check_model(transaction, change)
            journal.record(transaction, change)

        self._server.write(work, is_repeatable=True)
        self._staged = change

    def _check_versions(self, transaction: Transaction, change: Change) -> None:
        wanted = {source.id: base for source, base in zip(change.sources, change.base_versions, strict=True)}
        rows = transaction.collect("persist/read_versions", sorted(wanted))
        found = {**dict.fromkeys(wanted, 0), **{str(row["id"]): whole(row, "version") for row in rows}}
        for source in change.sources:
            if found[source.id] != wanted[source.id]:
                raise StoreConflictError(
                    f"{source.uri}: it was changed by someone else since this change was planned "
                    f"(version {found[source.id]}, expected {wanted[source.id]}); run the same command again"
                )

    def _check_model(self, transaction: Transaction, change: Change) -> None:
        for row in transaction.rows("persist/read_corpus", corpus=change.corpus):
            held = (row["embedding"], row["dimensions"])
            if change.embedding and held[0] and held != (change.embedding, change.dimensions):
                raise ModelMismatchError(
                    f"corpus {change.corpus!r} holds vectors of {held[0]} ({held[1]} dimensions), these are of "
                    f"{change.embedding} ({change.dimensions}); use the embedding model of the corpus, or another corpus"
                )

    def advance(self, change_id: str, to: ChangeState, *, beside: Callable[[], object] = tuple) -> Outcome:
        """See :meth:`GraphStore.advance`."""
        if to is not ChangeState.PUBLISHED:
            return self._advance(change_id, to, tuple)
        with side_by_side(beside) as finished:
            return self._advance(change_id, to, finished)

    def _advance(self, change_id: str, to: ChangeState, finished: Callable[[], object]) -> Outcome:
        outdated: list[str] = []

        def work(transaction: Transaction) -> Outcome:
            self.leases.check(transaction)
            rows = transaction.rows("persist/find_change", id=change_id)
            if not rows:
                if to is ChangeState.DONE:
                    return Outcome()
                raise StoreError(f"change {change_id} is not in the journal; run the same command again")
            outcome = journal.unpack(rows[0]["outcome"])
            if to is ChangeState.DONE:
                journal.forget(transaction, change_id)
            elif ChangeState(str(rows[0]["state"])) is ChangeState.STAGED:
                change = self._change(transaction, change_id)
                outcome = publish(transaction, change)
                if change.removed_sources and not image_changes.leads_on(
                    transaction, change, vanished=outcome.vanished
                ):
                    outdated.append(change.corpus)
                state = ChangeState.PUBLISHED.value
                transaction.rows("persist/advance_change", id=change_id, state=state, outcome=journal.pack(outcome))
            finished()
            self.leases.check(transaction)
            return outcome

        outcome = self._server.write(work, is_repeatable=True)
        if self._images is not None:
            for corpus in outdated:
                self._images.forget(corpus)
        if to is ChangeState.DONE:
            self._staged = None
        else:
            self._corpora.forget()
        return outcome

    def _change(self, transaction: Transaction, name: str) -> Change:
        """The staged change, from memory or from the journal."""
        if self._staged is not None and self._staged.id == name:
            return self._staged
        parts = {row["id"]: whole(row, "parts") for row in transaction.rows("persist/list_changes", corpus=None)}
        return journal.load(transaction, name, parts=parts[name])

    # Reading

    def records(self, kind: Kind, ids: Sequence[str], *, scope: Scope) -> list[Record]:
        """See :meth:`GraphStore.records`."""
        if kind not in PLURAL or not ids or not self._is_ready():
            return []
        held = self._recent.read(kind, ids, corpus=scope.corpus, state=scope.state)
        if scope.where is None and scope.sources is None:
            return held
        return admitted(held, scope, read=lambda names: self.records(Kind.SOURCE, names, scope=Scope(scope.corpus)))

    def find(self, kind: Kind, scope: Scope) -> Iterator[Record]:
        """See :meth:`GraphStore.find`."""
        if kind not in PLURAL or not self._is_ready():
            return iter(())
        is_whole = scope.where is None and scope.sources is None
        if not is_whole and kind not in (*_OF_A_SOURCE, Kind.SOURCE):
            raise StoreError(f"{kind} records belong to the whole corpus; find them without a filter or sources")
        names = self._page(kind, scope.corpus) if is_whole else iter(self._inside(kind, scope))
        return self._records(kind, names, Scope(scope.corpus))

    def _records(self, kind: Kind, pages: Iterator[list[str]], scope: Scope) -> Iterator[Record]:
        for page in pages:
            yield from self.records(kind, page, scope=scope)

    def _page(self, kind: Kind, corpus: str) -> Iterator[list[str]]:
        """The ids of a corpus, page by page."""
        after = ""
        while True:
            page = self._ids(f"retrieve/page_{PLURAL[kind]}", corpus=corpus, after=after, size=BATCH)
            if page:
                yield page
            if len(page) < BATCH:
                return
            after = page[-1]

    def _ids(self, name: str, **params: object) -> list[str]:
        return [str(row["id"]) for row in self._server.read(lambda transaction: transaction.rows(name, **params))]

    def _inside(self, kind: Kind, scope: Scope) -> list[list[str]]:
        """The ids of a scope, page by page."""
        admitted = self._filters.admitted(scope, self._state(scope.corpus))
        sources = list(admitted.listed)
        if not admitted.admits:
            listed = set(sources)
            sources = [name for page in self._page(Kind.SOURCE, scope.corpus) for name in page if name not in listed]
        elif scope.where is None:
            sources = [item.id for item in self.records(Kind.SOURCE, sources, scope=Scope(scope.corpus))]
        names = sorted(sources)
        if kind is not Kind.SOURCE:
            rows = self._server.read(
                lambda transaction: transaction.collect(f"retrieve/find_{PLURAL[kind]}", names, key="source_ids")
            )
            names = sorted(str(row["id"]) for row in rows)
        return [names[start : start + PAGE] for start in range(0, len(names), PAGE)]

    def _state(self, corpus: str) -> State:
        for found in self.stats(corpus, has_counts=False):
            return State.named(found.state) or State(found.version, "")
        return _ANY

    def pull(self, seeds: Sequence[str], shape: PullShape, *, scope: Scope) -> Subgraph:
        """See :meth:`GraphStore.pull`."""
        held = self.image(scope)
        if held is not None:
            with pulling("image", "pull", seeds=seeds, shape=shape, scope=scope) as call:
                graph = held.image.pull(seeds, shape, sources=held.sources)
                call.rows = len(graph)
            return graph
        found = self._within(scope, functools.partial(pull, seeds=seeds, shape=shape))
        return nothing(shape) if found is None else found

    def own_entities(self, corpus: str, source_ids: Sequence[str]) -> list[str]:
        """See :meth:`GraphStore.own_entities`."""
        if not source_ids or not self._is_ready():
            return []
        return self._ids("retrieve/find_own_entities", corpus=corpus, source_ids=list(source_ids))

    def match(self, query: MatchQuery, *, scope: Scope) -> list[Matched]:
        """See :meth:`hlgraph.stores.protocols.Matcher.match`."""
        check_match(query)
        held = self.image(scope)
        if held is not None:
            seeds = [item for name in query.names for item in name]
            with pulling("image", "match", seeds=seeds, shape=MENTIONED, scope=scope) as call:
                counts = held.image.match(query, sources=held.sources)
                call.rows = sum(len(item.ids) for item in counts)
            return counts
        return self._within(scope, functools.partial(match, query=query)) or []

    def image(self, scope: Scope) -> ScopedImage | None:
        """The image of a corpus and what a scope admits of it; None where the server must answer."""
        if self._images is None or not self._is_ready():
            return None
        for _ in range(_ATTEMPTS):
            held = self._images.held(scope.corpus, scope.state) or self._images.current(scope.corpus, scope.state)
            if held is None:
                if self._has_searches:
                    self._warming.begin()
                return None
            is_known = self._filters.has(scope, held.state)
            admitted = self._filters.admitted(scope, held.state)
            if is_known or self._images.state(scope.corpus) == held.state:  # the filter was decided on this state
                return ScopedImage(held.image, held.sources(admitted))
        return None

    def plan_ahead(self) -> None:
        """See :meth:`hlgraph.stores.ranking.PlansAhead.plan_ahead`."""
        self._has_searches = True
        if self._images is None:
            self._warming.begin()

    def walked_by(self, scope: Scope) -> str:
        """See :meth:`hlgraph.stores.ranking.HasImage.walked_by`."""
        if self._images is None:
            return "server"
        why = self._images.why_not(scope.corpus)
        return f"server: {why}" if why else "image"

    def _within(self, scope: Scope, read: _Read[T]) -> T | None:
        """The result of a read in a scope, repeated while writers change the corpus; None if there is no such corpus."""
        if not self._is_ready():
            return None
        for _ in range(_ATTEMPTS):
            state = _ANY if scope.where is None else self._state(scope.corpus)  # a filter is decided for one state
            if scope.where is not None and not state.version:
                return None
            bounds = Bounds(scope.corpus, self._filters.admitted(scope, state), state.version)
            found = self._server.read(functools.partial(read, bounds=bounds))
            if found is not None:
                return found
        raise StoreConflictError(f"corpus {scope.corpus!r} was changed {_ATTEMPTS} times during a pull; ask again")

    def stats(
        self, corpus: str | None = None, *, has_counts: bool = True, has_relationships: bool = True
    ) -> tuple[CorpusStats, ...]:
        """See :meth:`GraphStore.stats`."""
        rows = [] if corpus is None or self._has_schema else self._server.ask("retrieve/open_corpus", corpus=corpus)
        if not self._is_ready(applied(maps(rows[0]["applied"])) if rows else None):
            return ()
        return self._corpora.stats(corpus, rows=rows, has_counts=has_counts, has_relationships=has_relationships)

    def known(self, corpus: str) -> CorpusStats | None:
        """See :meth:`hlgraph.stores.ranking.Remembers.known`."""
        return self._corpora.known(corpus)
