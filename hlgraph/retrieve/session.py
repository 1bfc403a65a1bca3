"""One retrieval in progress: the stores seen through one corpus and one filter, with a trace of every step."""

from __future__ import annotations

import contextlib
import copy
import re
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph import telemetry
from hlgraph.algorithms.merging import share_edges
from hlgraph.algorithms.word_counts import CountedTexts
from hlgraph.errors import StoreCorruptError
from hlgraph.index.embed import check_fingerprint, check_model
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.local.reranker import LexicalReranker, lexical_scores
from hlgraph.models.protocols import ChatModel, Embedder, Reranker, question_vector
from hlgraph.records import (
    KIND_OF,
    PAGE_BREAK,
    Calibration,
    Chunk,
    Evidence,
    Hit,
    Kind,
    Record,
    Scalar,
    Source,
    Statement,
)
from hlgraph.retrieve.explain.parts import Notes
from hlgraph.retrieve.request import Mode, SearchRequest, StepTrace
from hlgraph.stores import trace
from hlgraph.stores.derived import Member, Membership, Run, Summaries, run_named
from hlgraph.stores.protocols import (
    Aliases,
    CorpusStats,
    GraphStore,
    Matched,
    MatchQuery,
    PullShape,
    RankQuery,
    Scope,
    Stores,
    VectorQuery,
    base_of,
)
from hlgraph.subgraph import Subgraph
from hlgraph.text import BlockKind, blocks, cached_by_text, content_words, plain
from hlgraph.where import BUILT_IN_FIELDS

if TYPE_CHECKING:
    from hlgraph.retrieve.question.keywords import Keyword


# Pulls with merges applied: merged entities share the neighbours of their group, and a walk starts at all of them.


class Pulled(NamedTuple):
    """The pulled subgraph, and the number of round trips of the pull."""

    graph: Subgraph
    round_trips: int


def pull_merged(
    seeds: Sequence[str], shape: PullShape, *, scope: Scope, graph: GraphStore, aliases: Callable[[], Aliases]
) -> Pulled:
    """A pull in which merged entities act as one node: a step from one of them to another takes no hop.

    Every entity of a group that the scope makes visible is in the result, each with the edges of the whole group. If no
    reached entity was merged with an unreached one, a single pull is enough. Otherwise there is one pull per hop and one for the
    edges. A hub may then follow fewer neighbours than its fan-out, because those already known count towards it.

    Parameters
    ----------
    seeds : ids to start from
    shape : bounds of the pull
    scope : corpus, filter and state that are visible
    graph : the store
    aliases : reads the ids of the group of each merged entity; called after the first pull, which may have cached them

    Returns
    -------
    Pulled
        The subgraph, and the number of round trips.
    """
    pulled = graph.pull(seeds, shape, scope=scope)
    groups = aliases()
    if not groups or not shape.relationships or Kind.ENTITY not in shape.kinds:
        return Pulled(pulled, 1)
    reached = set(pulled.ids.tolist())
    if all(reached.issuperset(groups[name]) for name in reached & groups.keys()):
        return Pulled(share_edges(pulled, groups), 1)
    is_cut = pulled.is_cut
    frontier = _with_aliases(seeds, groups)
    known = dict.fromkeys(frontier[: shape.node_cap])
    one_hop = replace(shape, hops=1)
    round_trips = 2  # the first pull, which showed that a group is only partly reached, and the pull of the edges
    for _ in range(shape.hops):
        step = graph.pull(frontier, one_hop, scope=scope)
        round_trips += 1
        new = [name for name in _with_aliases(step.ids.tolist(), groups) if name not in known]
        room = shape.node_cap - len(known)
        is_cut = is_cut or step.is_cut or len(new) > room
        frontier = new[:room]
        if not frontier:
            break
        known.update(dict.fromkeys(frontier))
    every = graph.pull(list(known), replace(shape, hops=0, node_cap=max(len(known), 1)), scope=scope)
    whole = Subgraph(every.ids, every.kinds, every.edges, every.version, is_cut)
    return Pulled(share_edges(whole, groups), round_trips)


def spread_seeds(weights: Mapping[str, float], aliases: Aliases) -> Mapping[str, float]:
    """The weights of seeds, spread over merged entities: each entity of a group gets the largest weight in it.

    Parameters
    ----------
    weights : from id to weight
    aliases : from the id of each merged entity to the ids of its group

    Returns
    -------
    Mapping
        ``weights`` itself if no seed was merged.

    Examples
    --------
    >>> spread_seeds({"a": 0.5, "c": 1.0}, {"a": ("a", "b"), "b": ("a", "b")})
    {'a': 0.5, 'c': 1.0, 'b': 0.5}
    """
    if not any(name in aliases for name in weights):
        return weights
    spread = dict(weights)
    for name, weight in weights.items():
        for other in aliases.get(name, ()):
            spread[other] = max(spread.get(other, 0.0), weight)
    return spread


def _with_aliases(names: Iterable[str], aliases: Aliases) -> list[str]:
    """The same ids and those of their groups, ascending."""
    return sorted({other for name in names for other in (name, *aliases.get(name, ()))})


_R = TypeVar("_R", bound=Record)
_WIDEST = 100_000
_WITH_VECTORS = (Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.ENTITY)


class Search(NamedTuple):
    """One search of a retrieval: a question or a part of it, the kind and number of nodes, and the mode."""

    question: str
    kind: Kind
    k: int
    mode: Mode


@dataclass(slots=True)
class Step:
    """A step that is being traced; its block fills in ``count`` and ``details``."""

    name: str
    count: int = 0
    details: dict[str, Scalar] = field(default_factory=dict)


class Session:
    """The stores as strategies see them: every read is within the scope of the request, and its round trips are counted.

    Attributes
    ----------
    chat : the chat model, asked only by a strategy whose ``by`` is ``chat``
    note_hop, note_path : record one depth of a search, or a path, for the explanation; see :class:`Notes`
    reranked : cached results of the reranker, since fused strategies rerank the same nodes
    """

    def __init__(
        self,
        request: SearchRequest,
        stores: Stores,
        *,
        embedder: Embedder,
        reranker: Reranker,
        corpus: CorpusStats,
        chat: ChatModel | None = None,
    ) -> None:
        self.request = request
        self.reranker = reranker
        self.usage = None if chat is None else Usage()  # of the chat model
        self.fallbacks: Counter[str] = Counter()  # what a strategy did when a reply of the model could not be used
        self.chat: ChatModel | None = None
        if chat is not None:
            self.chat = replace(asking_about(chat, Purpose()), usage=self.usage)
        self.keywords: Mapping[Keyword, str] | None = None  # cached, since a wider search needs them again
        self.subqueries: dict[str, tuple[str, ...]] = {}  # cached by the fingerprint of their splitter
        self.route = ""  # cached: the strategy that a router chose
        self.scope = Scope(request.corpus, request.where, state=corpus.state)
        self.steps: list[StepTrace] = []
        self.round_trips = 1  # the read of `corpus`
        self.notes = Notes(is_kept=request.explain)
        self.note_hop, self.note_path = self.notes.add_hop, self.notes.add_path
        self._stores = stores
        self._embedder = embedder
        self._corpus = corpus
        self.scheme = corpus.ids
        self.hidden = corpus.pending  # changes whose rows searches must not return
        self._asked: dict[str, NDArray[np.float32]] = {}  # vectors of questions
        self._read: dict[tuple[Kind, str], Record | None] = {}
        self._cosines: dict[tuple[Kind, str], float] = {}
        self._vectors: dict[tuple[Kind, str], NDArray[np.float32]] = {}
        self._searches: dict[Search, list[Hit]] = {}
        self._ahead: dict[Search, list[Hit]] = {}  # sent in advance and not requested yet
        self._words: CountedTexts | None = None
        self._wider: Session | None = None  # whose question this one's is a part of
        self.reranked: dict[tuple[str, Kind, tuple[str, ...]], tuple[list[Hit], dict[str, float]]] = {}
        self._entities: tuple[str, ...] | None = None
        self._groups: Aliases | None = None  # of a caller

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Trace a block."""
        step = Step(name)
        start = time.perf_counter()
        with trace.step(name):
            yield step
        self.steps.append(StepTrace(name, step.count, round((time.perf_counter() - start) * 1000, 3), step.details))

    @property
    def has_metadata(self) -> bool:
        """Whether any source of the corpus has metadata besides its URI and title."""
        return not BUILT_IN_FIELDS.issuperset(self._corpus.fields)

    @property
    def vectors_of(self) -> str:
        """The name of the set of vectors that all searches use."""
        return self._corpus.vectors

    @property
    def calibration(self) -> Calibration | None:
        """The scale of the cosines of the corpus; None if it was not measured."""
        return self._corpus.calibration

    def move(self, corpus: CorpusStats) -> None:
        """Read records of another state of the corpus from now on; records that were read before are read again."""
        self._corpus, self.hidden, self._read = corpus, corpus.pending, {}
        self.scope = replace(self.scope, state=corpus.state)

    def note_seeds(self, kind: Kind, hits: Sequence[Hit], *, origin: str = "") -> None:
        """Record the starting points of a walk for the explanation. :meth:`seeds` records its own results.

        Parameters
        ----------
        kind : of the nodes
        hits : best first
        origin : the search or rule that returned them, such as ``keywords``; empty: the mode of the request
        """
        self.notes.add_seeds(kind, hits, origin=origin or self.request.mode)

    def fall_back(self, what: str) -> None:
        """Count a reply of the chat model that could not be used, under the fallback that replaced it."""
        self.fallbacks[what] += 1

    def vector(self) -> NDArray[np.float32]:
        """The vector of the question; embedded once. Raises ModelMismatchError when the corpus has vectors of another model."""
        question = self.request.question
        if question not in self._asked:
            check_fingerprint((self._corpus,), self._embedder)
            with self.step("embed") as step:
                vector = question_vector(self._embedder, question)
                step.count = 1
            check_model((self._corpus,), self._embedder)  # afterwards: now the length is known without another call
            self._asked[question] = vector
        return self._asked[question]

    def seeds(self, kind: Kind, k: int, *, mode: Mode | None = None) -> list[Hit]:
        """The best nodes of a kind.

        Rows without a record (of a removal that is published but not finished) are skipped, and the next ones take their place.

        Parameters
        ----------
        kind : of the nodes
        k : maximum number of nodes
        mode : of the search; None: that of the request

        Returns
        -------
        list of Hit
            Best first.
        """
        wanted = k
        while True:
            hits = self.search(kind, wanted, mode=mode)
            self._load(kind, [hit.id for hit in hits])
            there = _visible(self, kind, hits=[hit for hit in hits if self._read[kind, hit.id] is not None])
            if len(there) >= k or len(hits) < wanted or wanted >= _WIDEST:
                self.note_seeds(kind, there[:k], origin=mode or "")
                return there[:k]
            wanted *= 4

    def search(self, kind: Kind, k: int, *, mode: Mode | None = None) -> list[Hit]:
        """The best rows of a kind, unchecked: for callers that pull them next, since a pull leaves out removed records.

        A search that was sent for this question before is not sent again.

        Parameters
        ----------
        kind : of the rows
        k : maximum number of rows
        mode : of the search; None: that of the request

        Returns
        -------
        list of Hit
            Best first.
        """
        key = Search(self.request.question, kind, k, mode or self.request.mode)
        if key not in self._searches:
            query = _query(self, key)
            with self.step(f"search {kind}") as step:
                if key in self._ahead:
                    hits = self._ahead.pop(key)
                else:
                    hits = self._stores.vectors.search(query)
                    self.round_trips += 1
                _check_rows(self._stores, query, hits)
                step.count, step.details = len(hits), {"k": k, "mode": key.mode}
            self._searches[key] = hits
            if key.mode == "vector":
                self._cosines.update({(kind, hit.id): hit.score for hit in hits})
        return list(self._searches[key])

    def send(self, searches: Sequence[Search]) -> dict[Search, list[Hit]]:
        """Send searches concurrently before they are requested; each is recorded when it is requested.

        Parameters
        ----------
        searches : those that were sent before are skipped; a single new one is not sent ahead

        Returns
        -------
        dict of list of Hit
            Hits of the searches that were sent, now or before, and not requested yet.
        """
        missing = [one for one in dict.fromkeys(searches) if one not in self._searches and one not in self._ahead]
        if len(missing) > 1:
            queries: list[VectorQuery] = []
            for one in missing:
                with self.asking(one.question) as other:
                    queries.append(_query(other, one))
            with trace.step("search ahead"):
                results = self._stores.vectors.search_many(queries)
            self.round_trips += 1
            self._ahead.update(zip(missing, results, strict=True))
        return {one: self._ahead[one] for one in searches if one in self._ahead}

    @property
    def words(self) -> CountedTexts:
        """Counts of the question's content words in texts: each text is counted once for the question and all its parts."""
        if self._words is None:
            terms = list(dict.fromkeys(content_words(self.request.question)))
            self._words = (self._wider and self._wider.words.narrowed(terms)) or CountedTexts(terms)
        return self._words

    def rerank(
        self, texts: Sequence[str], *, similarities: NDArray[np.float32], paths: Sequence[Sequence[int]] | None = None
    ) -> NDArray[np.float32]:
        """Scores of texts by the reranker, or of paths of texts, joined by spaces.

        Parameters
        ----------
        texts : the texts
        similarities : cosine of each text, or of each path, to the question
        paths : indices of the texts of each path, at least one each; None: each text by itself

        Returns
        -------
        NDArray
            One score per text or path.
        """
        if type(self.reranker) is LexicalReranker:  # exactly this class: a subclass may score differently
            counted = self.words.of(texts)
            return lexical_scores(counted if paths is None else counted.joined(paths), similarities=similarities)
        if paths is not None:
            texts = [" ".join(texts[at] for at in path) for path in paths]
        with telemetry.model_call("rerank", self.reranker.fingerprint):
            return self.reranker.rerank(self.request.question, texts, similarities=similarities)

    def similarities(self, kind: Kind, ids: Sequence[str]) -> dict[str, float]:
        """Cosines of nodes to the question; those that a search returned are reused.

        Parameters
        ----------
        kind : of the nodes
        ids : of the nodes

        Returns
        -------
        dict of float
            By id; a node without a vector is left out.
        """
        missing = [item for item in ids if (kind, item) not in self._cosines]
        if missing:
            vector = self.vector()
            with self.step(f"similarity {kind}") as step:
                self._fetch({kind: missing})
                known = [item for item in missing if (kind, item) in self._vectors]
                step.count = len(known)
                if known:
                    # Row by row: a matrix product would start the BLAS threads for very little work.
                    cosines = np.vecdot([self._vectors[kind, item] for item in known], vector).tolist()
                    self._cosines.update({(kind, item): cosine for item, cosine in zip(known, cosines, strict=True)})
        return {item: self._cosines[kind, item] for item in ids if (kind, item) in self._cosines}

    def vectors(
        self, kind: Kind, ids: Sequence[str], *, compared: Mapping[Kind, Sequence[str]] | None = None
    ) -> tuple[list[str], NDArray[np.float32]]:
        """Vectors of nodes; each is read once.

        Parameters
        ----------
        kind : of the nodes
        ids : of the nodes
        compared : other nodes by kind, for which :meth:`similarities` is called next: their vectors are read in the same round trip

        Returns
        -------
        (ids, vectors)
            The nodes that have a vector, in the given order, and their vectors, shape (n, d).
        """
        missing = [item for item in ids if (kind, item) not in self._vectors]
        if missing:
            with self.step(f"vectors {kind}") as step:
                self._fetch({kind: missing, **_missing(compared or {}, self._cosines)})
                step.count = len(missing)
        known = [item for item in ids if (kind, item) in self._vectors]
        rows = [self._vectors[kind, item] for item in known]
        if not rows:
            return known, np.empty((0, self._corpus.dimensions), dtype=np.float32)
        return known, np.concatenate(rows).reshape(len(rows), -1)  # a third of the time of np.stack for short rows

    def _fetch(self, ids: Mapping[Kind, Sequence[str]]) -> None:
        if missing := _missing(ids, self._vectors):
            fetched = self._stores.vectors.vectors_many(self._corpus.vectors, missing, state=self.scope.state)
            self.round_trips += 1
            for kind, (names, matrix) in fetched.items():
                self._vectors.update({(kind, item): row for item, row in zip(names, matrix, strict=True)})

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts that only this retrieval needs, such as paths; one row per text."""
        with self.step("embed") as step:
            step.count = len(texts)
            return self._embedder.embed(texts)

    def rank(self, query: RankQuery) -> list[Hit]:
        """Nodes by personalised PageRank over the graph of a shape, within the scope."""
        query = replace(query, seed_weights=spread_seeds(query.seed_weights, self._aliases()))
        with self.step(f"rank {query.shape}") as step:
            hits = self._stores.graph.rank(query, scope=self.scope)
            self.round_trips += 1
            step.count = len(hits)
            step.details = {"seeds": len(query.seed_weights), "damping": query.damping, "k": query.k}
            step.details["by"] = self._stores.graph.ranked_by(self.scope, shape=query.shape)
        return hits

    def match(self, names: Sequence[str], k: int, *, most: int, among: Sequence[str] | None = None) -> list[Matched]:
        """Statements by the number of entities that they mention, highest first; merged entities count as one.

        Parameters
        ----------
        names : ids of entities
        k, most, among : see :class:`MatchQuery`
        """
        aliases = self._aliases()
        groups = tuple(dict.fromkeys(tuple(aliases.get(name, (name,))) for name in names))
        query = MatchQuery(groups, k, most, None if among is None else tuple(among))
        with self.step("match statements") as step:
            matches = self._stores.graph.match(query, scope=self.scope)
            self.round_trips += 1
            step.count = sum(match.size for match in matches)
            step.details = {"names": len(groups), "k": k}
        return matches

    def derived(self, name: str) -> tuple[Run | None, Summaries]:
        """A run of the corpus by name, and its summaries; None and an empty result if there is no such run."""
        store = self._stores.graph.derived
        with self.step(f"read {name}") as step:
            run = run_named(store, self.request.corpus, name=name) if store is not None else None
            self.round_trips += 1
            if store is None or run is None:
                return None, Summaries((), np.empty((0, 0), dtype=np.float32))
            summaries = store.summaries(self.request.corpus, name)
            self.round_trips += 1
            step.count = len(summaries.items)
            step.details = {"is_stale": run.is_stale}
        return run, summaries

    def memberships(self, name: str, statements: Sequence[str]) -> list[Membership] | None:
        """The communities of a run that have any of these statements as members, the coarsest level first.

        Parameters
        ----------
        name : name of the run
        statements : ids

        Returns
        -------
        list of Membership
            None if the corpus has no such run of its present version, or the request has a filter: the communities rest on the
            whole corpus.
        """
        store, corpus = self._stores.graph.derived, self.request.corpus
        if store is None or self.scope.where is not None or self.scope.sources is not None:
            return None
        with self.step(f"read communities of {name}") as step:
            run = run_named(store, corpus, name=name)
            self.round_trips += 1
            if run is None or run.is_stale or run.version != self._corpus.version:
                return None
            memberships = store.memberships(corpus, name, ids=statements)
            self.round_trips += 1
            step.count, step.details = len(memberships), {"parameters": run.parameters}
        return memberships

    def members(self, communities: Sequence[str]) -> dict[str, tuple[Member, ...]]:
        """The members of communities, whether the filter admits them or not."""
        store = self._stores.graph.derived
        with self.step("read members") as step:
            members = store.members(communities) if store is not None and communities else {}
            self.round_trips += 1
            step.count = sum(map(len, members.values()))
        return members

    def entities(self) -> tuple[str, ...]:
        """The ids of the entities in the scope, ascending; read once. Not a step: some searches read them only if merges exist."""
        if self._entities is None:
            self._entities = self._stores.graph.entities(self.scope)
        return self._entities

    def pull(self, seeds: Sequence[str], shape: PullShape) -> Subgraph:
        """The part of the graph around seeds; entities that a merge joins have the edges of all of them.

        Parameters
        ----------
        seeds : ids of nodes
        shape : kinds, hops and bounds

        Returns
        -------
        Subgraph
        """
        with self.step("pull") as step:
            pulled = pull_merged(seeds, shape, scope=self.scope, graph=self._stores.graph, aliases=self._aliases)
            self.round_trips += pulled.round_trips
            step.count = len(pulled.graph)
            step.details = {"seeds": len(seeds), "hops": shape.hops, "is_cut": pulled.graph.is_cut}
            if by := self._stores.graph.walked_by(self.scope):
                step.details["by"] = by
        return pulled.graph

    def distinct(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Scores with only the best of the entities that a merge joins; ties break by id."""
        aliases = self._aliases()
        best: dict[str, str] = {}
        for name in sorted(scores, key=lambda item: (-scores[item], item)):
            best.setdefault(min(aliases.get(name, (name,))), name)
        kept = set(best.values())
        return {name: score for name, score in scores.items() if name in kept}

    def _aliases(self) -> Aliases:
        """The entities that merges join, of those in sight; the store reads them once per version of the corpus."""
        store = self._stores.graph.merges
        aliases = {} if store is None else store.aliases(self.request.corpus, version=self._corpus.version)
        if store is None or not aliases or not self.request.is_alone:
            return aliases
        if self._groups is None:
            inside = set(self.entities())
            self._groups = store.aliases(self.request.corpus, version=self._corpus.version, among=inside)
        return self._groups

    def records(self, record_type: type[_R], ids: Sequence[str]) -> dict[str, _R]:
        """The visible records by id; a record that was read once in this session is not read again.

        Parameters
        ----------
        record_type : class of the records
        ids : of the records
        """
        self._load(kind := KIND_OF[record_type], ids)
        records = ((item, self._read[kind, item]) for item in ids)
        return {item: record for item, record in records if isinstance(record, record_type)}

    def _load(self, kind: Kind, ids: Sequence[str]) -> None:
        missing = [item for item in ids if (kind, item) not in self._read]
        if missing:
            self.round_trips += 1
            with trace.step(f"read {kind}"):
                scope = self.scope if self.request.is_alone else replace(self.scope, where=None)
                records = {item.id: item for item in self._stores.graph.records(kind, missing, scope=scope)}
            self._read.update({(kind, item): records.get(item) for item in missing})

    @contextlib.contextmanager
    def asking(self, question: str) -> Iterator[Session]:
        """The same retrieval with another question: reads are shared, and round trips count here."""
        if question == self.request.question:
            yield self
            return
        other = copy.copy(self)
        other.request = replace(self.request, question=question)
        other._cosines, other.round_trips, other.keywords, other.subqueries = {}, 0, None, {}
        other.route, other._words, other._wider = "", None, self._wider or self
        try:
            yield other
        finally:
            self.round_trips += other.round_trips


def _missing(ids: Mapping[Kind, Sequence[str]], known: Container[tuple[Kind, str]]) -> dict[Kind, list[str]]:
    """The unknown nodes by kind; kinds without unknown nodes are left out."""
    missing = {kind: [item for item in some if (kind, item) not in known] for kind, some in ids.items()}
    return {kind: some for kind, some in missing.items() if some}


def _visible(session: Session, kind: Kind, *, hits: list[Hit]) -> list[Hit]:
    """Hits without entities that no admitted source mentions: entities belong to no source, so no search filters them."""
    if kind is not Kind.ENTITY or session.request.where is None or session.request.is_alone or not hits:
        return hits
    shape = PullShape(frozenset(), frozenset({kind}), hops=0, node_cap=len(hits))
    inside = set(session.pull([hit.id for hit in hits], shape).ids.tolist())
    return [hit for hit in hits if hit.id in inside]


def _check_rows(stores: Stores, query: VectorQuery, hits: Sequence[Hit]) -> None:
    """Raise StoreCorruptError if a search found nothing although the graph has records that the filter admits."""
    if hits or query.vector is None or query.k < 1 or query.kind not in _WITH_VECTORS:
        return
    if query.among is not None and not query.among:
        return
    corpus = base_of(query.corpus)
    for _ in stores.graph.find(query.kind, Scope(corpus, query.where)):
        raise StoreCorruptError(
            f"corpus {corpus!r}: the graph has {query.kind} records, and the vector store has no row of them; run: hlgraph "
            f"reconcile --repair --corpus {corpus}"
        )


def _query(session: Session, search: Search) -> VectorQuery:
    """The query of a search; its question is that of the session."""
    vector = session.vector() if search.mode != "text" else None
    text = search.question if search.mode != "vector" else None
    request, hidden, state = session.request, session.hidden, session.scope.state
    is_entity = search.kind is Kind.ENTITY
    among = session.entities() if is_entity and request.is_alone else None
    where = None if is_entity else request.where
    return VectorQuery(
        search.kind, session.vectors_of, search.k, vector, text, where, hidden, state, among, is_alone=request.is_alone
    )


def evidence_of(
    record: Chunk | Statement,
    chunk: Chunk,
    *,
    source: Source,
    score: float,
    why: Mapping[str, float | str] | None = None,
) -> Evidence:
    """A chunk, or a statement of it, as evidence.

    Parameters
    ----------
    record : the chunk, or the statement
    chunk : the chunk
    source : its source
    score : its score
    why : what explains its score; None (default): nothing
    """
    return Evidence(
        text=record.text,
        score=score,
        chunk_id=chunk.id,
        start=record.start,
        end=record.end,
        source=source,
        statement_id=record.id if isinstance(record, Statement) else "",
        page=page_at(chunk, record.start),
        headings=headings_at(chunk, record.start),
        why=why or {},
    )


def page_at(piece: Chunk | Evidence, start: int) -> int | None:
    """The page of the character at ``start`` of the source; None for formats without pages.

    Parameters
    ----------
    piece : a chunk with that character; its page is that of its first character
    start : offset in the text of the source
    """
    passed = piece.text.count(PAGE_BREAK, 0, max(0, start - piece.start))
    return None if piece.page is None else piece.page + passed


def headings_at(chunk: Chunk, start: int) -> tuple[str, ...]:
    """The titles of the headings above a character of a chunk: those above the chunk, and those in its text before it.

    The levels of the headings above a chunk are not stored: the outermost counts as the first, the next one as the second.

    Parameters
    ----------
    chunk : a chunk with that character
    start : offset in the text of the source
    """
    path = [(title, level) for level, title in enumerate(chunk.headings, 1)]
    for at, title, level in _headings_in(chunk.text) if start > chunk.start else ():
        if at >= start - chunk.start:
            break
        # One that opens the chunk is above it, too. Where the outermost level is the second, levels differ by one.
        known = next((place for place, (own, least) in enumerate(path) if own == title and level <= least + 1), None)
        above = path[:known] if known is not None else [each for each in path if each[1] < level]
        path = [*above, (title, level)]
    return tuple(title for title, _ in path)


@cached_by_text(1 << 12)
def _headings_in(text: str) -> tuple[tuple[int, str, int], ...]:
    """Where each heading of a text begins, its title and its level."""
    if _MAY_HEAD.search(text) is None:
        return ()
    headings = (block for block in blocks(text) if block.kind is BlockKind.HEADING)
    return tuple((block.start, " ".join(plain(block.title).split()), block.level) for block in headings)


_MAY_HEAD = re.compile(r"(?m)^ {0,3}#|^[^\n]{1,120}\n(?:[=*~^-]+$|\s*\n)")
