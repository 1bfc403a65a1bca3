"""What `statement_graph` and `topic_graph` share: seeds by keywords, the beam over shared entities, scores by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.beam import BeamOptions, BeamResult, Candidates, Children, Frontier, Nodes, beam_search, run
from hlgraph.algorithms.path_scores import attention_scores
from hlgraph.ids import entity_id
from hlgraph.records import Hit, Kind, Statement
from hlgraph.retrieve.explain.notes import Hop
from hlgraph.retrieve.question.keywords import Keyword, ask_keywords, longest, names_in
from hlgraph.retrieve.retriever import Ranked, Why, rerank
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.region import Region
from hlgraph.subgraph import Subgraph

_WIDEST = 100_000


class Around(NamedTuple):
    """What is pulled around: hits of a kind, so many of the best, so many hops far."""

    kind: Kind
    width: int
    hops: int


def question_keywords(session: Session) -> Mapping[Keyword, str]:
    """The keywords of the question (HLG, Eq. 1), each with the id of the entity that it may name; found once a session.

    By the chat model where the session has one; by the words of the question where it has none, or names none.
    """
    if session.keywords is None:
        with session.step("keywords") as step:
            found = ask_keywords(session.request.question, session.chat) if session.chat is not None else []
            step.details = {"by": session.chat.fingerprint if session.chat is not None and found else "words"}
            found = found or names_in(session.request.question)
            step.count = len(found)
        session.keywords = {keyword: entity_id(session.request.corpus, keyword.text) for keyword in found}
    return session.keywords


def search_and_pull(
    session: Session, region: Region, *, around: Around, k: int, entities: Sequence[str]
) -> tuple[list[str], Subgraph]:
    """The ``k`` best statements or topics by a search, and a pull around the best of them and around the entities.

    Rows whose record vanished (see :meth:`Session.seeds`) are not pulled: others take their place. Those behind the best
    ``around.width`` are not looked for in the graph unless one of the best is gone.
    """
    wanted, width = k, around.width
    while True:
        found = session.search(around.kind, wanted)
        hits = [hit.id for hit in found]
        near, rest = hits[:width], hits[width:k]
        graph = region.pull([*entities, *near], hops=around.hops, has_topics=around.kind is Kind.TOPIC)
        there = [hit for hit, at in zip(near, graph.index(near).tolist(), strict=True) if at >= 0]
        if len(there) == len(near) or len(there) >= k or len(hits) < wanted or wanted >= _WIDEST:
            kept = dict.fromkeys([*there, *rest][:k])
            session.note_seeds(around.kind, [hit for hit in found if hit.id in kept])
            return list(kept), graph
        wanted = width = wanted * 4


def keyword_statements(
    session: Session, region: Region, *, keywords: Mapping[Keyword, str], k: int, beside: Nodes
) -> Nodes:
    """The ``k`` statements that mention most keywords; ties by cosine to the question, then by id (HLG, Eq. 2 and 3).

    A keyword inside a longer one that is an entity too does not count: who asks for the Aldane Bridge asks for no bridge.
    Of a keyword that more statements mention than ``fan_out`` of the region, so many are looked at. ``beside``: other seeds,
    whose embeddings are read in the same round trip.
    """
    there = longest(keyword for keyword, entity in keywords.items() if region.has_entity(entity))
    with session.step("keyword statements") as step:
        nodes, counts = region.matches(sorted({keywords[keyword] for keyword in there}))
        region.vectors(np.union1d(nodes, beside))
        cosines = region.cosines(nodes)
        ids = np.array([region.ids[node] for node in nodes.tolist()], dtype=np.str_)
        best: Nodes = nodes[np.lexsort((ids, -cosines, -counts))[:k]]
        step.count = len(best)
        step.details = {"keywords": ", ".join(keyword.text for keyword in there)}
    matched = dict(zip(nodes.tolist(), counts.tolist(), strict=True))
    hits = [Hit(region.ids[node], float(matched[node])) for node in best.tolist()]
    session.note_seeds(Kind.STATEMENT, hits, origin="keywords")
    return best


def steps_of_pulls(pulls: int, max_depth: int) -> list[int]:
    """How many steps of a beam follow each pull: one, and all that are left after the last one.

    Examples
    --------
    >>> steps_of_pulls(2, 3), steps_of_pulls(3, 3), steps_of_pulls(5, 3), steps_of_pulls(1, 2)
    ([1, 2], [1, 1, 1], [1, 1, 1], [2])
    """
    single = min(pulls, max_depth) - 1
    return [1] * single + [max_depth - single]


class EntityWalk(Frontier):
    """Statements that share an entity, scored by the attention-weighted embedding of the path (HLG, Eq. 5-7).

    Parameters
    ----------
    pulls : so often the store is asked for neighbours, the pull of the seeds included; steps after the last pull stay among
        the statements that are known then, see :meth:`Region.pull_ahead`
    max_depth : steps of the beam
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
        """See :class:`Frontier`: the scores of this walk are exact at once."""
        return self.score(candidates)


class GuidedWalk(EntityWalk):
    """The same, with exact scores by the reranker: the texts of a path, joined, against the question (HLG, 4.2).

    Parameters
    ----------
    allowed : shape (n,): which statements may be entered; their texts are read
    """

    def __init__(self, session: Session, region: Region, *, allowed: NDArray[np.bool_]) -> None:
        super().__init__(session, region, pulls=1, max_depth=1)
        self._allowed = allowed

    def expand(self, nodes: Nodes) -> Children:
        """See :class:`Frontier`."""
        found = self.region.children(nodes)
        may = self._allowed[found.nodes]
        return Children(found.owner[may], found.nodes[may], None if found.keys is None else found.keys[may])

    def score(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Frontier`: single statements by the reranker, longer paths by their embedding at first."""
        return super().score(candidates) if candidates.prefixes.shape[1] else self.rescore(candidates)

    def rescore(self, candidates: Candidates) -> NDArray[np.floating]:
        """See :class:`Frontier`."""
        paths = [tuple(path) for path in candidates.paths.tolist()]
        return rerank_paths(self.session, self.region, paths=paths, similarities=super().score(candidates))


def walk(frontier: EntityWalk, seeds: Nodes, *, options: BeamOptions) -> BeamResult:
    """Search, and trace what each depth kept and why it pruned."""
    keys = np.array([frontier.region.ids[node] for node in seeds.tolist()], dtype=np.str_)
    with frontier.session.step("beam") as step:
        result = run(beam_search(seeds, options=options, keys=keys), frontier)
        step.count = len(result.paths)
        for each in result.steps:
            details = each._asdict()
            depth = details.pop("depth")
            if not each.kept:
                del details["best"]  # there is none
            step.details |= {f"depth {depth} {name.replace('_', ' ')}": value for name, value in details.items()}
    _note(frontier, seeds, result)
    return result


def _note(frontier: EntityWalk, seeds: Nodes, result: BeamResult) -> None:
    """For the explanation: seeds by their cosine, the depths of the beam, and its paths of more than one statement."""
    session, ids = frontier.session, frontier.region.ids
    if not session.is_explained:
        return
    cosines = frontier.region.cosines(seeds).tolist()
    found = [Hit(ids[node], cosine) for node, cosine in zip(seeds.tolist(), cosines, strict=True)]
    session.note_seeds(Kind.STATEMENT, sorted(found, key=lambda hit: (-hit.score, hit.id)), origin="seeds of the beam")
    for each in result.steps:
        pruned = {
            "in the path already": each.revisits,
            "the same statements in another order": each.duplicates,
            "not among the rescored": each.not_rescored,
            "no better than the path before": each.not_better,
            "beam width": each.beam_full,
        }
        ends = [Hit(ids[path.nodes[-1]], path.score) for path in result.paths if len(path.nodes) == each.depth + 1]
        session.note_hop(Hop(each.depth, each.expanded, each.kept, pruned, ends, name="beam"))
    for path in result.paths:
        if len(path.nodes) > 1:
            session.note_path([ids[node] for node in path.nodes], path.score)


def rerank_paths(
    session: Session, region: Region, *, paths: Sequence[tuple[int, ...]], similarities: NDArray[np.floating]
) -> NDArray[np.float32]:
    """Scores of paths by the reranker, over their texts joined by spaces; ``similarities``: of their embeddings."""
    nodes = sorted({node for path in paths for node in path})
    records = session.records(Kind.STATEMENT, [region.ids[node] for node in nodes], made=Statement)
    text = {node: records[region.ids[node]].text if region.ids[node] in records else "" for node in nodes}
    with session.step("rerank paths") as step:
        step.count = len(paths)
        step.details = {"reranker": session.reranker.fingerprint}
        return session.reranker.rerank(
            session.request.question,
            [" ".join(text[node] for node in path) for path in paths],
            similarities=np.asarray(similarities, dtype=np.float32),
        )


def rank_pool(session: Session, region: Region, *, seeds: Nodes, result: BeamResult, path_weight: float) -> Ranked:
    """Seeds and all statements of kept paths, by the reranker (HLG, Eq. 9 and 10), and by their best path where it weighs.

    ``score = (1 - path_weight) rerank(s) + path_weight max rerank(P)`` over the kept paths P that hold the statement. The
    papers have ``path_weight`` 0: then a statement that only bridges two others, and says little of the question itself, is
    found by the beam and lost by the reranker. ``why`` names the best path of each statement, by embedding where paths do
    not weigh: its score, its length, the ids on it; and whether the statement was a seed or was found by the beam.
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
    for path, score in sorted(paths.items(), key=lambda item: (-item[1], [region.ids[node] for node in item[0]])):
        for node in path:
            best.setdefault(region.ids[node], (score, path))
    is_seed = {region.ids[node] for node in seeds.tolist()}
    why: Why = {}
    hits: list[Hit] = []
    for hit in ranked.hits:
        score, path = best[hit.id]
        hits.append(Hit(hit.id, (1 - path_weight) * hit.score + path_weight * score))
        found = "seed" if hit.id in is_seed else "beam"
        ids = " ".join(region.ids[node] for node in path)
        why[hit.id] = {
            **ranked.why[hit.id],
            "path": score,
            "path_length": float(len(path)),
            "path_ids": ids,
            "found": found,
        }
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    return Ranked(Kind.STATEMENT, hits, why)
