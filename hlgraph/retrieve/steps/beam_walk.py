"""Steps shared by `statement_graph` and `topic_graph`: seeds from keywords, the beam over shared entities, scores of paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.beam import (
    BeamOptions,
    BeamResult,
    BeamStep,
    Candidates,
    Children,
    Frontier,
    Nodes,
    attention_scores,
    beam_search,
)
from hlgraph.ids import entity_id
from hlgraph.records import Hit, Kind, Statement
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.question.keywords import Keyword, ask_keywords, longest, names_in
from hlgraph.retrieve.retriever import By, Ranked, Why, by_score, chat_of, rerank
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.region import Region
from hlgraph.subgraph import Subgraph

_WIDEST = 100_000
_TIED = 1_000  # statements with equal counts whose embeddings are read: about 1.5 MB of 384 dimensions
_DEEPEST = 10_000  # maximum number of hits of the search that replaces them if there are more


class Around(NamedTuple):
    """The start of a pull.

    Attributes
    ----------
    kind : kind of the hits
    width : number of best hits to pull around
    hops : radius of the pull
    """

    kind: Kind
    width: int
    hops: int


def question_keywords(session: Session, by: By = "rules") -> Mapping[Keyword, str]:
    """The keywords of the question (HLG, Eq. 1), each with the id of the entity that it may name; computed once per session.

    Parameters
    ----------
    session : of the search
    by : who names them: ``rules`` (default) use the words of the question, ``chat`` asks the chat model; if its reply names none,
        the rules decide, and the session notes it

    Returns
    -------
    Mapping
        Ids of entities by keyword.

    Raises
    ------
    InputError : ``by`` is ``chat`` and there is no chat model
    """
    if session.keywords is None:
        with session.step("keywords") as step:
            model = chat_of(session) if by == "chat" else None
            keywords = ask_keywords(session.request.question, model) if model is not None else []
            step.details = {"by": model.fingerprint if model is not None and keywords else "words"}
            if model is not None and not keywords:
                session.fall_back("keywords: the reply names none, so rules named them")
            keywords = keywords or names_in(session.request.question)
            step.count = len(keywords)
        of_name = partial(entity_id, session.request.corpus, scheme=session.scheme)
        session.keywords = {keyword: of_name(keyword.text) for keyword in keywords}
    return session.keywords


def search_and_pull(
    session: Session, region: Region, *, around: Around, k: int, entities: Sequence[str]
) -> tuple[list[str], Subgraph]:
    """The ``k`` best statements or topics of a search, and a pull around the best of them and around the entities.

    Hits whose record is gone (see :meth:`Session.seeds`) are replaced by the next ones. Hits below the best ``around.width`` are
    not looked up in the graph unless one of the best is gone.

    Parameters
    ----------
    session : runs the search
    region : receives what is pulled
    around : what to search for, and how far to pull
    k : number of hits
    entities : ids of entities to pull around as well

    Returns
    -------
    tuple
        The ids of the hits, best first, and the pulled subgraph.
    """
    wanted, width = k, around.width
    while True:
        results = session.search(around.kind, wanted)
        hits = [hit.id for hit in results]
        near, rest = hits[:width], hits[width:k]
        graph = region.pull([*entities, *near], hops=around.hops, has_topics=around.kind is Kind.TOPIC)
        there = [hit for hit, at in zip(near, graph.index(near).tolist(), strict=True) if at >= 0]
        if len(there) == len(near) or len(there) >= k or len(hits) < wanted or wanted >= _WIDEST:
            kept = dict.fromkeys([*there, *rest][:k])
            session.note_seeds(around.kind, [hit for hit in results if hit.id in kept])
            return list(kept), graph
        wanted = width = wanted * 4


def keyword_statements(
    session: Session, region: Region, *, keywords: Mapping[Keyword, str], k: int, beside: Nodes
) -> Nodes:
    """The ``k`` statements that mention most keywords; ties by cosine to the question, then by id (HLG, Eq. 2 and 3).

    A keyword inside a longer keyword that also names an entity does not count: a question about the Aldane Bridge does not ask
    about bridges. Mentions are counted over all statements of the scope: in the region if it holds them all, else by the
    matcher of the stores, in one more round trip (without a matcher, only statements in the region count). If more than 1,000
    statements with equal counts compete for the last places, those among the 10,000 statements closest to the question are used,
    as the vector store finds them.

    Parameters
    ----------
    session : reads the store and notes the seeds
    region : was pulled around the keywords; statements that it lacks are added to it, without their neighbours
    keywords : the keywords with the ids of their entities
    k : maximum number of statements
    beside : other seeds, whose embeddings are read in the same round trip

    Returns
    -------
    NDArray
        Shape (m,), numbers of statements in the region, best first.
    """
    there = longest(keyword for keyword, entity in keywords.items() if region.has_entity(entity))
    with session.step("keyword statements") as step:
        matched = _mentioning(session, region, names=sorted({keywords[keyword] for keyword in there}), k=k)
        ids = np.array(list(matched), dtype=np.str_)
        region.add(ids.tolist())
        nodes = region.numbers(ids.tolist())
        region.vectors(np.union1d(nodes, beside))
        counts = np.array(list(matched.values()), dtype=np.intp)
        best: Nodes = nodes[np.lexsort((ids, -region.cosines(nodes), -counts))[:k]]
        step.count = len(best)
        step.details = {"keywords": ", ".join(keyword.text for keyword in there)}
    hits = [Hit(region.ids[node], float(matched[region.ids[node]])) for node in best.tolist()]
    session.note_seeds(Kind.STATEMENT, hits, origin="keywords")
    return best


def _mentioning(session: Session, region: Region, *, names: Sequence[str], k: int) -> dict[str, int]:
    """The number of entities that each statement mentions, for all statements that may be among the ``k`` best."""
    if region.holds_all(names):
        nodes, counts = region.matches(names)
        return {region.ids[node]: count for node, count in zip(nodes.tolist(), counts.tolist(), strict=True)}
    mentions: dict[str, int] = {}
    for each in session.match(names, k, most=_TIED):
        ids = each.ids or _closest(session, names, count=each.count, k=k - len(mentions))
        mentions |= dict.fromkeys(ids, each.count)
    return mentions


def _closest(session: Session, names: Sequence[str], *, count: int, k: int) -> list[str]:
    """The statements closest to the question that mention ``count`` of the entities, if there are too many to compare."""
    depth = _TIED
    while True:
        hits = [hit.id for hit in session.search(Kind.STATEMENT, depth, mode="vector")]
        classes = session.match(names, len(hits), most=len(hits), among=hits) if hits else []
        mine = {name for each in classes if each.count == count for name in each.ids}
        closest = [name for name in hits if name in mine][:k]
        if len(closest) == k or len(hits) < depth or depth == _DEEPEST:
            return closest
        depth = min(4 * depth, _DEEPEST)


def steps_of_pulls(pulls: int, max_depth: int) -> list[int]:
    """Number of beam steps after each pull: one, and all that remain after the last pull.

    Parameters
    ----------
    pulls : maximum number of pulls, at least 1
    max_depth : number of steps of the beam

    Returns
    -------
    list
        One number for each pull; they sum to ``max_depth``.

    Examples
    --------
    >>> steps_of_pulls(2, 3), steps_of_pulls(3, 3), steps_of_pulls(5, 3), steps_of_pulls(1, 2)
    ([1, 2], [1, 1, 1], [1, 1, 1], [2])
    """
    single = min(pulls, max_depth) - 1
    return [1] * single + [max_depth - single]


class EntityWalk(Frontier):
    """A beam over statements that share an entity, scored by the attention-weighted embedding of the path (HLG, Eq. 5-7).

    Parameters
    ----------
    session : its question scores the paths
    region : the statements known so far
    pulls : number of times that the store is asked for neighbours, the pull around the seeds included; steps after the last pull
        stay among the statements known by then, see :meth:`Region.pull_ahead`
    max_depth : number of steps of the beam
    """

    def __init__(self, session: Session, region: Region, *, pulls: int, max_depth: int) -> None:
        self.session = session
        self.region = region
        self._steps = steps_of_pulls(pulls, max_depth)[1:]
        self._known = steps_of_pulls(pulls, max_depth)[0]

    def expand(self, nodes: Nodes) -> Children:
        """See :class:`Frontier`."""
        if not self._known:
            self._known = self._steps.pop(0)
            self.region.pull_ahead(nodes, steps=self._known)
        self._known -= 1
        return self.region.children(nodes)

    def score(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Frontier`."""
        nodes = np.concatenate((candidates.prefixes.ravel(), candidates.nodes))
        vectors = self.region.vectors(nodes)
        return attention_scores(candidates, vectors=vectors, question=self.session.vector())

    def rescore(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Frontier`: the first scores of this walk are exact already."""
        return self.score(candidates)


class GuidedWalk(EntityWalk):
    """An :class:`EntityWalk` with exact scores by the reranker: the joined texts of a path against the question (HLG, 4.2).

    Parameters
    ----------
    session, region : as in :class:`EntityWalk`
    allowed : shape (n,), which statements may be entered; their texts are read
    """

    def __init__(self, session: Session, region: Region, *, allowed: NDArray[np.bool_]) -> None:
        super().__init__(session, region, pulls=1, max_depth=1)
        self._allowed = allowed

    def expand(self, nodes: Nodes) -> Children:
        """See :class:`Frontier`."""
        children = self.region.children(nodes)
        may = self._allowed[children.nodes]
        return Children(children.owner[may], children.nodes[may], None if children.keys is None else children.keys[may])

    def score(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Frontier`: the reranker scores single statements; longer paths get the score of their embedding at first."""
        return super().score(candidates) if candidates.prefixes.shape[1] else self.rescore(candidates)

    def rescore(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Frontier`."""
        paths = [tuple(path) for path in candidates.paths.tolist()]
        return rerank_paths(self.session, self.region, paths=paths, similarities=super().score(candidates))


def walk(frontier: EntityWalk, seeds: Nodes, *, options: BeamOptions) -> BeamResult:
    """Run the beam, and trace for each depth the kept paths and the reasons for pruning.

    Parameters
    ----------
    frontier : expands and scores paths
    seeds : shape (m,), numbers of statements in the region
    options : width, depth and thresholds of the beam

    Returns
    -------
    BeamResult
        The kept paths and a trace of each depth.
    """
    keys = np.array([frontier.region.ids[node] for node in seeds.tolist()], dtype=np.str_)
    with frontier.session.step("beam") as step:
        result = beam_search(seeds, frontier, options=options, keys=keys)
        step.count = len(result.paths)
        for each in result.steps:
            details = each._asdict()
            depth = details.pop("depth")
            if not each.kept:
                del details["best"]  # nothing was kept
            step.details |= {f"depth {depth} {name.replace('_', ' ')}": value for name, value in details.items()}
    session, ids = frontier.session, frontier.region.ids
    if session.notes.is_kept:
        cosines = frontier.region.cosines(seeds).tolist()
        seed_scores = {ids[node]: cosine for node, cosine in zip(seeds.tolist(), cosines, strict=True)}
        session.note_seeds(Kind.STATEMENT, by_score(seed_scores), origin="seeds of the beam")
        note_depths(session, ids, result=result, steps=result.steps, duplicates="the same statements in another order")
        for path in result.paths:
            if len(path.nodes) > 1:
                session.note_path([ids[node] for node in path.nodes], path.score)
    return result


def note_depths(
    session: Session, ids: Sequence[str], *, result: BeamResult, steps: Sequence[BeamStep], duplicates: str
) -> None:
    """Note for the explanation what each depth of a beam search kept, and why it pruned the rest.

    Parameters
    ----------
    session : has the notes
    ids : of the statements, by their numbers
    result : of the search
    steps : the depths to note
    duplicates : what the explanation calls several paths of the same statements
    """
    for step in steps:
        pruned = {
            "in the path already": step.revisits,
            duplicates: step.duplicates,
            "not among the rescored": step.not_rescored,
            "no better than the path before": step.not_better,
            "beam width": step.beam_full,
        }
        ends = [Hit(ids[path.nodes[-1]], path.score) for path in result.paths if len(path.nodes) == step.depth + 1]
        session.note_hop(Hop(step.depth, step.expanded, step.kept, pruned, ends, name="beam"))


def rerank_paths(
    session: Session, region: Region, *, paths: Sequence[tuple[int, ...]], similarities: NDArray[np.floating]
) -> NDArray[np.float32]:
    """Scores of paths by the reranker, over their texts joined by spaces.

    Parameters
    ----------
    session : its reranker and question
    region : the statements of the paths
    paths : numbers of statements, one tuple for each path
    similarities : shape (m,), scores of the paths by their embeddings

    Returns
    -------
    NDArray
        Shape (m,), in the order of ``paths``.
    """
    nodes = sorted({node for path in paths for node in path})
    ids = [region.ids[node] for node in nodes]
    records = session.records(Statement, ids)
    place = {node: at for at, node in enumerate(nodes)}
    with session.step("rerank paths") as step:
        step.count = len(paths)
        step.details = {"reranker": session.reranker.fingerprint}
        return session.rerank(
            [records[item].text if item in records else "" for item in ids],
            similarities=np.asarray(similarities, dtype=np.float32),
            paths=[[place[node] for node in path] for path in paths],
        )


def rank_pool(session: Session, region: Region, *, seeds: Nodes, result: BeamResult, path_weight: float) -> Ranked:
    """Seeds and all statements of the kept paths, ranked by the reranker (HLG, Eq. 9 and 10) and by the best path of each.

    ``score = (1 - path_weight) rerank(s) + path_weight max rerank(P)`` over the kept paths P that hold the statement s. The
    papers use ``path_weight`` 0: the beam then finds a statement that only bridges two others and says little about the
    question, and the reranker drops it. ``why`` has the best path of each statement (by embedding if ``path_weight`` is 0): its
    score, its length and its ids; and whether the statement was a seed or was found by the beam.

    Parameters
    ----------
    session : its reranker and question
    region : the statements
    seeds : shape (m,), numbers of statements in the region
    result : what the beam found
    path_weight : weight of the best path, from 0 to 1

    Returns
    -------
    Ranked
        Best first, ties by id.
    """
    pool = np.union1d(seeds, result.visited)
    ranked = rerank(session, Kind.STATEMENT, ids=[region.ids[node] for node in pool.tolist()])
    paths = {path.nodes: path.score for path in result.paths}
    single = pool[~np.isin(pool, result.visited)]
    paths |= {(node,): float(cosine) for node, cosine in zip(single.tolist(), region.cosines(single), strict=True)}
    best: dict[str, tuple[float, tuple[int, ...]]] = {}
    if path_weight:
        scores = rerank_paths(session, region, paths=list(paths), similarities=np.array(list(paths.values())))
        paths = dict(zip(paths, scores.tolist(), strict=True))
    # Without new scores the paths have the order of the result, and a statement outside it has one path only.
    ordered = list(paths.items())
    if path_weight:
        ordered.sort(key=lambda item: (-item[1], [region.ids[node] for node in item[0]]))
    for path, score in ordered:
        for node in path:
            best.setdefault(region.ids[node], (score, path))
    is_seed = {region.ids[node] for node in seeds.tolist()}
    why: Why = {}
    totals: dict[str, float] = {}
    for hit in ranked.hits:
        score, path = best[hit.id]
        totals[hit.id] = (1 - path_weight) * hit.score + path_weight * score
        why[hit.id] = {
            **ranked.why[hit.id],
            "path": score,
            "path_length": float(len(path)),
            "path_ids": " ".join(region.ids[node] for node in path),
            "found": "seed" if hit.id in is_seed else "beam",
        }
    return Ranked(Kind.STATEMENT, by_score(totals), why)
