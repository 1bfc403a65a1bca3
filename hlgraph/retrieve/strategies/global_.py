"""ToPG Global: many statements on all aspects of a broad question, and the communities that contain them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.communities import partition
from hlgraph.algorithms.cover import CoverBounds
from hlgraph.algorithms.query_walk import QueryWalk, RocchioWeights, refined_query
from hlgraph.errors import InputError
from hlgraph.records import Chunk, Hit, Kind, Statement
from hlgraph.retrieve.question.subqueries import ChatDecomposer, FacetSplitter, Splitter
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import (
    By,
    Group,
    Needs,
    Presets,
    Ranked,
    Why,
    chat_of,
    check_counts,
    check_deciders,
    rerank,
    search_ahead,
)
from hlgraph.retrieve.session import Search, Session
from hlgraph.retrieve.steps.facets import facets, in_turns, rank_passages
from hlgraph.retrieve.steps.feedback import ChatSelector, Collection, ScoreSelector, Selector
from hlgraph.retrieve.steps.suggest import (
    Extraction,
    Horizon,
    Suggestion,
    best_of,
    check_synonyms,
    horizons,
    suggest_naive,
    texts_of,
)

_TOLERANCE = {"question": 1e-2, "partition": 1e-6}  # of the shares, which are summed for a ranking

Vector = NDArray[np.float64]
_Sighting = tuple[Vector, Vector]
"""Where a statement was found: the query of a walker, and the mean embedding of the statements pruned beside it."""


@dataclass(frozen=True, slots=True)
class GlobalRetriever:
    """Anchors collected for all aspects of a question, and the communities around them (ToPG Global, Alg. 2 and 3).

    1. The question is decomposed into at most ``breadth`` sub-queries; SuggestNaive and Select for each give the first pool.
    2. A cycle: each statement of the pool gets a query of its own (Rocchio, Eq. 9 and 11), and the pool is divided into at most
       ``breadth`` partitions. On the part of the graph around each partition, every statement walks with its own query; the sum of
       the shares suggests (Eq. 10), and Select keeps some. They are the next pool; all statements ever kept are the anchors.
    3. When there are ``anchors`` of them, or after ``cycles`` cycles, or when a cycle keeps nothing: communities of the graph
       around the anchors, and the greedy cover within the budget.

    The paper writes a report from the communities: see :mod:`hlgraph.answer.report`. A report reads them whole, and the
    anchors outside all of them. As a search this strategy returns their statements: the best of each community, then the second
    of each, and so on. In a community the anchors come first, then the others, each by the reranker. The communities are in the
    order of their best statement, as the paper ranks its intermediate answers, or in the order of the cover, which depends on the
    number of anchors and little on the question. Anchors outside all communities follow, then the rest of the first search.
    ``why`` gives the community of a statement, numbered from 1 in the order of the cover, and the cycle in which it became an
    anchor.

    Attributes
    ----------
    breadth : m, maximum number of sub-queries and of partitions (paper: 10)
    suggestions : k, of each step (default 20; the paper's table leaves it open)
    anchors : min_facts (default 200; paper: 200 to 1,000)
    cycles : max_iter (authors' code: 50; without a model two or three are enough for 200 anchors)
    extraction : GExtract; l is its ``size``
    walk : lambda .5, damping .85; tau and theta are .1 and .4 fitted to the corpus, unless they are given
    synonyms : entities that SYNONYM edges of at least this similarity join count as one in the walk; ``fitted`` (default): the
        paper's 0.9, fitted to the corpus; None: none do
    feedback : alpha 1, beta .7, gamma .15
    cover : budget 8,000 nodes, communities of 10 to 150
    community_size : larger communities are divided again (default 50, as in the authors' code)
    parts : where the walks stay: ``question`` (default): in one part of the graph around the first anchors, of ``extraction.size``
        statements, or 2.5 times ``anchors`` if that is more; ``partition``: in each cycle, in one part for each partition, as in
        the paper
    region : number of statements around the anchors that are divided into communities (default 2,000)
    candidates : statements of a search that SuggestNaive reranks (default 100, as in ``statement``; paper: 0, by cosine alone)
    ranked : statements of a community that are reranked, those closest to the question (default 50)
    order : of the communities: ``relevance`` (default) or ``cover``
    by : who decomposes and selects: ``rules`` (default) or ``chat``, the chat model
    splitter, selector : replacements of your own; with ``chat`` only one of them

    References
    ----------
    ToPG, section 2.3.3, Algorithms 2 and 3, Eq. 9-11, Table 5.
    """

    name: ClassVar[str] = "global"
    unit: ClassVar[Unit] = "statement"
    needs: ClassVar[Needs] = ("communities",)
    presets: ClassVar[Presets] = {
        "literal": {
            "candidates": 0,
            "parts": "partition",
            "walk": QueryWalk(temperature=0.1, threshold=0.4),
            "synonyms": 0.9,
        },
    }
    breadth: int = 10
    suggestions: int = 20
    anchors: int = 200
    cycles: int = 50
    extraction: Extraction = field(default_factory=Extraction)
    walk: QueryWalk = field(default_factory=QueryWalk)
    synonyms: float | Literal["fitted"] | None = "fitted"
    feedback: RocchioWeights = field(default_factory=RocchioWeights)
    cover: CoverBounds = field(default_factory=CoverBounds)
    community_size: int = 50
    parts: Literal["question", "partition"] = "question"
    region: int = 2_000
    candidates: int = 100
    ranked: int = 50
    order: Literal["relevance", "cover"] = "relevance"
    by: By = "rules"
    splitter: Splitter | None = None
    selector: Selector | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self, zero=("candidates",))
        check_synonyms(self.synonyms)
        check_deciders(self.by, self.splitter, self.selector)
        if self.order not in ("relevance", "cover"):
            raise InputError(f"order is {self.order!r}; choose 'relevance' or 'cover'")
        if self.parts not in ("question", "partition"):
            raise InputError(f"parts is {self.parts!r}; choose 'question' or 'partition'")

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        anchors = self._collect(session, k)
        chosen = facets(
            session,
            sorted(anchors.kept),
            region=self.region,
            community_size=self.community_size,
            bounds=self.cover,
            synonyms=self.synonyms,
        )
        return self._ranked(session, anchors, chosen)

    def _deciders(self, session: Session) -> tuple[Splitter, Selector]:
        if self.by == "chat":
            model, tell = chat_of(session), session.fall_back
            splitter = self.splitter or ChatDecomposer(model, tell, self.breadth)
            return splitter, self.selector or ChatSelector(model, tell=tell)
        # Wider than for a single question: a kept statement need not score near the best, but it must be new.
        wide = ScoreSelector(keep=max(1, self.suggestions // 2), margin=0.1)
        return self.splitter or FacetSplitter(self.breadth), self.selector or wide

    def _collect(self, session: Session, k: int) -> _Anchors:
        """Algorithm 2."""
        splitter, selector = self._deciders(session)
        anchors = _Anchors(session, selector)
        with session.step("decompose") as step:
            questions = splitter.split(session.request.question)[: self.breadth]
            step.count = len(questions)
            step.details = {"splitter": splitter.fingerprint, "subqueries": " | ".join(questions)}
        pool = self._seed(session, questions, anchors=anchors, k=k)
        cycle = 0
        while pool and len(anchors.kept) < self.anchors and cycle < self.cycles:
            cycle += 1
            vectors = anchors.vectors(sorted(pool))
            queries = {item: _refined(vectors[item], seen, self.feedback) for item, seen in pool.items()}
            fresh: dict[str, list[_Sighting]] = {}
            for explored in self._explore(session, sorted(pool), queries=queries, anchors=anchors):
                kept = anchors.select(
                    session.request.question,
                    explored.suggested,
                    cycle=cycle,
                    name="a partition",
                    details={"cycle": cycle},
                )
                pruned = anchors.mean([item.id for item in explored.suggested if item.id not in kept])
                for item in kept:
                    fresh.setdefault(item, []).append((explored.led_to(item), pruned))
                    if session.notes.is_kept:
                        session.note_path([explored.leader(item), item], explored.share(item))
            anchors.keep(fresh, cycle=cycle)
            pool = fresh
        return anchors

    def _seed(
        self, session: Session, questions: Sequence[str], *, anchors: _Anchors, k: int
    ) -> dict[str, list[_Sighting]]:
        """Lines 5 to 9: the first anchors. The query of an anchor is the vector of its sub-query."""
        seen: list[tuple[Vector, list[Suggestion], dict[str, None]]] = []
        depth = max(self.candidates, k)  # of the search for each sub-query; the first is the question itself
        depths = [depth, *[max(self.candidates, self.suggestions)] * len(questions)]
        mode = session.request.mode
        search_ahead(session, [Search(one, Kind.STATEMENT, k, mode) for one, k in zip(questions, depths, strict=False)])
        for number, question in enumerate(questions):
            wanted = depth if not number else self.suggestions
            suggested = suggest_naive(session, question, k=wanted, candidates=self.candidates)
            if not number:
                anchors.naive = [item.id for item in suggested]
            suggested = suggested[: self.suggestions]
            kept = anchors.select(question, suggested, cycle=0, name="a sub-query", details={"cycle": 0})
            with session.asking(question) as asked:
                seen.append((asked.vector().astype(np.float64), suggested, kept))
        session.vectors(Kind.STATEMENT, sorted({item.id for _, suggested, _ in seen for item in suggested}))  # at once
        pool: dict[str, list[_Sighting]] = {}
        for origin, suggested, kept in seen:
            pruned = anchors.mean([item.id for item in suggested if item.id not in kept])
            for item in kept:
                pool.setdefault(item, []).append((origin, pruned))
        anchors.keep(pool, cycle=0)
        return pool

    def _explore(
        self, session: Session, pool: Sequence[str], *, queries: Mapping[str, Vector], anchors: _Anchors
    ) -> list[_Explored]:
        """SuggestGlobal, Eq. 10, on each partition of the pool; the reads of all partitions are batched."""
        vectors = anchors.vectors(pool)
        groups = partition(np.stack([vectors[item] for item in pool]), self.breadth)
        parts = [[pool[at] for at in members] for members in groups]
        explored: list[_Explored] = []
        for around, inside in self._around(session, parts, anchors):
            known = set(around.ids.tolist())
            walkers = [[item for item in part if item in known] for part in inside]
            every = [item for part in walkers for item in part]
            if not every:
                continue
            with session.step("walk") as step:
                asked = np.stack([queries[item] for item in every])
                shares = around.shares(
                    [[item] for item in every], asked, walk=self.walk, tolerance=_TOLERANCE[self.parts]
                )
                step.count = len(around.ids)
                step.details = {"walkers": len(every), "extraction": self.extraction.fingerprint}
                step.details |= around.drawn_by(self.walk)
            taken = around.places(np.array(list(anchors.kept)))
            ends = np.cumsum([len(part) for part in walkers])
            for part, end in zip(walkers, ends.tolist(), strict=True):
                rows = slice(end - len(part), end)
                if part:
                    explored.append(_Explored(around, part, asked[rows], shares[rows], taken[taken >= 0]))
        best = [each.best(self.suggestions) for each in explored]
        texts = texts_of(session, sorted({item for some in best for item, _ in some}))
        for each, some in zip(explored, best, strict=True):
            each.suggested = [Suggestion(item, texts[item], share) for item, share in some if item in texts]
        return explored

    def _around(
        self, session: Session, parts: Sequence[Sequence[str]], anchors: _Anchors
    ) -> list[tuple[Horizon, Sequence[Sequence[str]]]]:
        """The parts of the graph in which the walks of a cycle stay, each with the partitions that walk in it."""
        # Exact scores: a single statement more or less can change the communities around the collected statements.
        around = partial(horizons, session, synonyms=self.synonyms, is_exact=True)
        if self.parts == "partition":
            return [(each, [part]) for each, part in zip(around(parts, extraction=self.extraction), parts, strict=True)]
        if anchors.around is None:
            pool = [item for part in parts for item in part]
            size = max(self.extraction.size, 5 * self.anchors // 2)
            [anchors.around] = around([pool], extraction=replace(self.extraction, size=size))
        return [(anchors.around, parts)]

    def _ranked(self, session: Session, anchors: _Anchors, chosen: Sequence[Group]) -> Ranked:
        """The statements of the communities in turns, then anchors outside all communities, then the rest of the first search."""
        # Of several communities of a statement, the first counts.
        number = {item: group.number for group in reversed(chosen) for item in group.statements}
        cosines = session.similarities(Kind.STATEMENT, sorted(number))
        whole: dict[int, list[str]] = {}
        for group in chosen:
            mine = [item for item in group.statements if number[item] == group.number]
            mine.sort(key=lambda item: (item not in anchors.kept, -cosines.get(item, -1.0), item))
            whole[group.number] = mine
        inside = [item for mine in whole.values() for item in mine[: self.ranked]]
        outside = [item for item in anchors.kept if item not in number]
        rest = [item for item in anchors.naive if item not in number and item not in anchors.kept]
        reranked = rerank(session, Kind.STATEMENT, ids=[*inside, *outside, *rest])
        place = {hit.id: at for at, hit in enumerate(reranked.hits)}

        def ordered(items: Sequence[str]) -> list[str]:
            there = [item for item in items if item in place]
            return sorted(there, key=lambda item: (item not in anchors.kept, place[item]))

        groups = {at: best for at, mine in whole.items() if (best := ordered(mine[: self.ranked]))}
        if self.order == "relevance":
            groups = dict(sorted(groups.items(), key=lambda pair: min(place[item] for item in pair[1])))
        order = [*in_turns([*groups.values()]), *ordered(outside), *ordered(rest)]
        is_whole = session.request.communities
        every = dict.fromkeys([*order, *(item for at in groups for item in (whole[at] if is_whole else ()))])
        why: Why = {}
        for item in every:
            why[item] = dict(reranked.why.get(item, {"cosine": cosines.get(item, 0.0)}))
            if item in number:
                why[item]["community"] = float(number[item])
            if item in anchors.kept:
                why[item]["cycle"] = float(anchors.kept[item])
        shown = {at: [*dict.fromkeys([*best, *whole[at]])] for at, best in groups.items()}
        if outside:
            shown[0] = ordered(outside)
        whole_groups = _groups(session, shown, chosen=chosen, anchors=anchors.kept) if is_whole else ()
        hits = [Hit(item, 1 / at) for at, item in enumerate(order, 1)]
        return Ranked(Kind.STATEMENT, hits, why, groups=whole_groups)


def _groups(
    session: Session, shown: Mapping[int, Sequence[str]], *, chosen: Sequence[Group], anchors: Mapping[str, int]
) -> tuple[Group, ...]:
    """The communities with their statements, entities and passages; a passage of two communities is in the first of them."""
    said = session.records(Statement, [item for mine in shown.values() for item in mine])
    chunks = session.records(Chunk, sorted({item for group in chosen for item in group.passages}))
    tokens = {item: chunk.tokens for item, chunk in chunks.items()}
    groups: list[Group] = []
    seen: set[str] = set()
    for at, mine in shown.items():
        collected = frozenset(item for item in mine if item in anchors)
        if not at:
            groups.append(Group(0, tuple(mine), anchors=collected, size=len(mine)))
            continue
        group = chosen[at - 1]
        inside = set(group.passages) & tokens.keys() - seen
        counts = Counter(said[item].chunk_id for item in mine if item in said)
        passages = rank_passages({item: counts[item] for item in sorted(inside)}, tokens)
        seen.update(passages)
        groups.append(group._replace(statements=tuple(mine), passages=tuple(passages), anchors=collected))
    return tuple(groups)


def _refined(vector: Vector, sightings: Sequence[_Sighting], weights: RocchioWeights) -> Vector:
    """The query of a statement, Eq. 11."""
    origins, pruned = zip(*sightings, strict=True)
    return refined_query(np.stack(origins), vector, pruned=np.stack(pruned), weights=weights)


@dataclass(slots=True)
class _Explored:
    """One partition after its walks.

    Attributes
    ----------
    around : the part of the graph
    walkers : ids of the w statements at which a walk began
    vectors : shape (w, d), their queries
    shares : shape (w, n)
    taken : places of the statements that are anchors already
    suggested : the suggestions, best first
    """

    around: Horizon
    walkers: Sequence[str]
    vectors: Vector
    shares: Vector
    taken: NDArray[np.intp]
    suggested: list[Suggestion] = field(default_factory=list)

    def best(self, k: int) -> list[tuple[str, float]]:
        """At most k statements that are no anchors, those with the highest sums of shares, each with its sum."""
        total = self.shares.sum(axis=0)
        total[self.taken] = 0.0
        return best_of(self.around.ids, total, k=k)

    def _of(self, item: str) -> Vector:
        place = int(np.searchsorted(self.around.ids, item))
        return self.shares[:, place]

    def share(self, item: str) -> float:
        """The sum of the shares of a statement."""
        return float(self._of(item).sum())

    def leader(self, item: str) -> str:
        """The statement whose walk most likely reached this one; ties by id."""
        return self.walkers[int(np.argmax(self._of(item)))]

    def led_to(self, item: str) -> Vector:
        """The query of the walk that most likely reached a statement, Eq. 11."""
        query: Vector = self.vectors[self.walkers.index(self.leader(item))]
        return query


class _Anchors(Collection):
    """The anchors of one search, and embeddings of statements.

    Attributes
    ----------
    around : the part of the graph in which all cycles stay; None: none was read yet
    """

    around: Horizon | None = None

    def vectors(self, ids: Sequence[str]) -> dict[str, Vector]:
        """The embeddings of statements, by id; zeros for one without."""
        known, vectors = self.session.vectors(Kind.STATEMENT, ids)
        missing = np.zeros(len(self.session.vector()))
        return dict.fromkeys(ids, missing) | dict(zip(known, vectors.astype(np.float64), strict=True))

    def mean(self, ids: Sequence[str]) -> Vector:
        """The mean embedding of statements; zeros if none has one."""
        known, vectors = self.session.vectors(Kind.STATEMENT, ids)
        return vectors.mean(axis=0, dtype=np.float64) if known else np.zeros(len(self.session.vector()))
