"""The suggestion step of ToPG: the part of the graph around statements, and the query-guided walk over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.fusion import top_k
from hlgraph.algorithms.ppr import Space, local_pagerank, prepare
from hlgraph.algorithms.projection import ProjectionShape, incidence, ingredients, project
from hlgraph.algorithms.query_walk import Bipartite, QueryWalk, bipartite, query_pagerank, visit_shares
from hlgraph.errors import InputError
from hlgraph.records import Calibration, Kind, Scalar, Statement
from hlgraph.resolve.candidates import least_synonym
from hlgraph.retrieve.retriever import rerank
from hlgraph.retrieve.session import Session
from hlgraph.stores.protocols import PullShape, RankQuery
from hlgraph.subgraph import Csr, Subgraph

_SHAPE = ProjectionShape.STATEMENT_ENTITY_CHUNK
_WIDE = 1_000
_EPSILON = 1e-5  # push around the seeds: about 40 of the best 500 statements differ from exact scores
_TOLERANCE = 1e-3  # whole graph: at most 2 of the best 500 differ from exact scores
_FINE = 1e-6  # whole graph: at 1e-5 one of the best 5,000 differs in one of eight rankings; fewer at 1e-6
_DAMPING = 0.85


class Suggestion(NamedTuple):
    """A statement that a step of a strategy proposes.

    Attributes
    ----------
    id : of the statement
    text : of the statement
    score : higher is better; comparable within one step only
    """

    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Extraction:
    """How the part of the graph around statements is extracted (GExtract).

    Attributes
    ----------
    size : l, maximum number of statements, those with the highest share (default 500, as in the paper)
    by : ``push``: deterministic personalised PageRank by the ranker of the store; ``walk``: random walks with restart, in
        process over a pulled subgraph, as in the paper
    steps, seed : number of steps (default 20,000, as in the authors' code) and random seed of the walks
    hops, fan_out, node_cap : bounds of the pull that the random walks run on
    """

    size: int = 500
    by: Literal["push", "walk"] = "push"
    steps: int = 20_000
    seed: int = 0
    hops: int = 4
    fan_out: int = 100
    node_cap: int = 20_000

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.by not in ("push", "walk"):
            raise InputError(f"by is {self.by!r}; choose 'push' or 'walk'")
        check.at_least(0, seed=self.seed)
        check.at_least(1, **{name: value for name, value in asdict(self).items() if name not in ("by", "seed")})

    @property
    def fingerprint(self) -> str:
        """A short description for explanations."""
        return (
            f"{self.by} {self.size}" if self.by == "push" else f"walk {self.size}, {self.steps} steps, seed {self.seed}"
        )


@dataclass(frozen=True, slots=True)
class Horizon:
    """The part of the graph around statements.

    Attributes
    ----------
    ids : shape (n,), of its statements, ascending
    graph : the edges between statements and joints
    vectors : shape (n, d); zeros for a statement without an embedding
    across : CSR of shape (n, m), statements by joints, which are their entities and chunks
    joints : shape (m,), ids of the joints
    kinds : kinds of the joints
    calibration : the scale of the cosines of the corpus
    """

    ids: NDArray[np.str_]
    graph: Bipartite
    vectors: NDArray[np.float32]
    across: Csr
    joints: NDArray[np.str_]
    kinds: tuple[Kind, ...]
    calibration: Calibration | None = None

    def shares(
        self, seeds: Sequence[Sequence[str]], vectors: NDArray[np.floating], *, walk: QueryWalk, tolerance: float = 1e-6
    ) -> NDArray[np.float64]:
        """The stationary shares of w walkers.

        Parameters
        ----------
        seeds : ids of statements, one sequence per walker
        vectors : shape (w, d), the embedding of each walker's question
        walk : parameters of the walk; those that are None are fitted to the corpus
        tolerance : see :func:`hlgraph.algorithms.query_walk.query_pagerank`

        Returns
        -------
        NDArray
            Shape (w, n).
        """
        weights = np.zeros((len(seeds), len(self.ids)))
        rows = np.repeat(np.arange(len(seeds)), [len(some) for some in seeds])
        named = np.array([item for some in seeds for item in some], dtype=self.ids.dtype)
        at = self.places(named)
        weights[rows[at >= 0], at[at >= 0]] = 1
        # Row by row: a matrix product would start the BLAS threads for very little work.
        asked = np.asarray(vectors, dtype=np.float64)[:, np.newaxis]
        cosines = np.vecdot(self.vectors.astype(np.float64), asked)
        tau, theta = walk.attraction(self.calibration)
        walk = replace(walk, temperature=tau, threshold=theta)
        return query_pagerank(self.graph, cosines, seed_weights=weights, walk=walk, tolerance=tolerance).scores

    def places(self, ids: NDArray[np.str_]) -> NDArray[np.intp]:
        """The place of each of some statements among ``ids``; -1 for one that is not there."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, at, -1) if len(self.ids) else np.full(len(ids), -1)

    def drawn_by(self, walk: QueryWalk) -> dict[str, Scalar]:
        """The parameters of a question-guided walk, for an explanation: tau and theta."""
        tau, theta = walk.attraction(self.calibration)
        return {"tau": tau, "theta": theta}

    def link(self, node: str, pool: Sequence[str]) -> tuple[list[str], list[Kind]]:
        """The path that joins a statement to one of a pool: statement of the pool, joint, statement.

        The rarest common joint is used, ties by id.

        Parameters
        ----------
        node : id of the statement
        pool : ids of statements

        Returns
        -------
        tuple
            The ids on the path and their kinds; both empty if there is no common joint.
        """
        at = int(np.searchsorted(self.ids, node))
        mine = self.across[[at]].indices
        rows = np.flatnonzero(np.isin(self.ids, [item for item in pool if item != node]))
        theirs = self.across[rows].indices
        common = np.intersect1d(mine, theirs)
        if not len(common):
            return [], []
        degrees = np.bincount(self.across.indices, minlength=self.across.shape[1])[common]
        joint = int(common[np.lexsort((self.joints[common], degrees))[0]])
        other = next(int(row) for row in rows if joint in self.across[[row]].indices)
        return (
            [str(self.ids[other]), str(self.joints[joint]), node],
            [Kind.STATEMENT, self.kinds[joint], Kind.STATEMENT],
        )


Synonyms: TypeAlias = float | Literal["fitted"] | None
"""Least similarity of the SYNONYM edges that a walk crosses: a cosine; ``fitted``: 0.9, fitted to the corpus; None: none."""
_SYNONYMS = 0.9


def check_synonyms(synonyms: Synonyms) -> None:
    """Raise InputError for a least similarity of synonyms that is neither above 0 nor ``fitted``."""
    if isinstance(synonyms, str):
        if synonyms != "fitted":
            raise InputError(f"synonyms is {synonyms!r}; choose a cosine above 0, 'fitted', or none")
    elif synonyms is not None:
        check.positive("synonyms", synonyms)


def least_of(synonyms: Synonyms, session: Session) -> float | None:
    """The least similarity of the SYNONYM edges that a walk crosses, as a number; None: it crosses none.

    Parameters
    ----------
    synonyms : as a strategy has it
    session : its corpus has the scale
    """
    return least_synonym(session.calibration, _SYNONYMS) if isinstance(synonyms, str) else synonyms


def horizons(
    session: Session,
    parts: Sequence[Sequence[str]],
    *,
    extraction: Extraction,
    synonyms: Synonyms = None,
    is_exact: bool = False,
) -> list[Horizon]:
    """The part of the graph around each pool of statements: GExtract of the paper.

    A pool is always in its own part. The cost does not depend on the number of pools: one ranking (``push``), one pull, and one
    read of the embeddings that are not known yet. The neighbourhood of all pools is pulled together and divided in process.

    Parameters
    ----------
    session : reads the graph
    parts : ids of statements, one sequence per pool
    extraction : how the part is extracted
    synonyms : entities that SYNONYM edges of at least this similarity join count as one in a part; ``fitted``: 0.9, fitted to the
        corpus; None: each entity is its own
    is_exact : ``push`` ranks by exact scores, so that every store pulls the same statements, in time linear in the graph. False
        (default): it ranks by a push around the pool, in time that does not grow with the graph

    Returns
    -------
    list
        One per pool.

    References
    ----------
    ToPG, section 2.2, "Subgraph Extraction"; appendix A, "synonym reconciliation".
    """
    pool = list(dict.fromkeys(item for part in parts for item in part))
    size = extraction.size * len(parts)
    least = least_of(synonyms, session)
    region = _region(session, pool, extraction=extraction, size=size, synonyms=least, is_exact=is_exact)
    mentions, in_chunk = incidence(region, synonyms=least)
    across = sp.csr_array(sp.hstack([mentions, in_chunk]))
    ids = region.ids[region.nodes(Kind.STATEMENT)]
    entities, chunks = region.ids[region.nodes(Kind.ENTITY)], region.ids[region.nodes(Kind.CHUNK)]
    joints = np.concatenate([entities, chunks])
    kinds = (Kind.ENTITY,) * len(entities) + (Kind.CHUNK,) * len(chunks)
    if len(parts) == 1 and extraction.by == "push":
        places = [np.arange(len(ids))]
    else:
        places = _places(region, parts, extraction=extraction, synonyms=least)
    vectors = _vectors(session, ids, wanted=np.unique(np.concatenate(places)))
    result = []
    for at in places:
        mine = sp.csr_array(across[at])
        result.append(Horizon(ids[at], bipartite(mine), vectors[at], mine, joints, kinds, session.calibration))
    return result


def _region(
    session: Session, pool: Sequence[str], *, extraction: Extraction, size: int, synonyms: float | None, is_exact: bool
) -> Subgraph:
    """The part of the graph around all pools."""
    relationships, kinds = ingredients(_SHAPE, synonyms=synonyms)
    if extraction.by == "walk":
        shape = PullShape(
            relationships, kinds, hops=extraction.hops, fan_out=extraction.fan_out, node_cap=extraction.node_cap
        )
        return session.pull(pool, shape)
    share = extraction.size / size
    query = RankQuery(
        _SHAPE,
        dict.fromkeys(pool, 1.0),
        size,
        _DAMPING,
        frozenset({Kind.STATEMENT}),
        tolerance=_FINE if is_exact else _TOLERANCE * share,
        epsilon=None if is_exact else _EPSILON * share,
        synonyms=synonyms,
    )
    wanted = [hit.id for hit in session.rank(query)]
    chosen = list(dict.fromkeys([*pool, *wanted]))[: max(size, len(pool))]
    cap = max(10_000, 20 * size)
    return session.pull(chosen, PullShape(relationships, kinds, hops=1, fan_out=_WIDE, node_cap=cap))


def _places(
    region: Subgraph, parts: Sequence[Sequence[str]], *, extraction: Extraction, synonyms: float | None
) -> list[NDArray[np.intp]]:
    """For each pool, the statements of its part, as places among the statements of the region, ascending."""
    statements = region.nodes(Kind.STATEMENT)
    ids = region.ids[statements]
    projected = project(region, _SHAPE, synonyms=synonyms)
    mine = np.searchsorted(projected.nodes, statements)
    walk = prepare(projected.adjacency) if extraction.by == "push" else None
    space = Space(walk) if walk is not None else None
    rng = np.random.default_rng(extraction.seed)
    places: list[NDArray[np.intp]] = []
    for part in parts:
        at = region.index(list(part))
        seeds = np.searchsorted(projected.nodes, at[at >= 0])
        shares = np.zeros(len(projected.nodes))
        if walk is not None and len(seeds):
            local = local_pagerank(
                walk, seeds, weights=np.ones(len(seeds)), damping=_DAMPING, epsilon=_EPSILON, space=space
            )
            shares[local.nodes] = local.scores
        elif len(seeds):
            shares = visit_shares(projected.adjacency, seeds, rng=rng, damping=_DAMPING, steps=extraction.steps)
        scores = shares[mine]
        scores[np.isin(ids, list(part))] = np.inf
        keep = np.sort(top_k(scores, max(extraction.size, len(part)), tie_break=ids))
        places.append(keep[scores[keep] > 0])
    return places


def _vectors(session: Session, ids: NDArray[np.str_], *, wanted: NDArray[np.intp]) -> NDArray[np.float32]:
    """Shape (n, d); zeros for statements that are not wanted or have no embedding yet."""
    known, vectors = session.vectors(Kind.STATEMENT, ids[wanted].tolist())
    if len(known) == len(ids):
        return vectors
    matrix = np.zeros((len(ids), vectors.shape[1] or len(session.vector())), dtype=np.float32)
    if known:
        matrix[np.searchsorted(ids, known)] = vectors
    return matrix


def suggest_naive(session: Session, question: str, *, k: int, candidates: int) -> list[Suggestion]:
    """SuggestNaive: the statements closest to the question, in the order of the search, or of the reranker.

    Parameters
    ----------
    session : runs the search
    question : text to search for
    k : maximum number of suggestions
    candidates : number of search hits to rerank, at least ``k`` of them; 0: none, as in the paper

    Returns
    -------
    list
        Best first.

    References
    ----------
    ToPG, section 2.3.1.
    """
    with session.asking(question) as asked:
        hits = asked.seeds(Kind.STATEMENT, max(candidates, k))
        ids = [hit.id for hit in hits]
        ranked = (rerank(asked, Kind.STATEMENT, ids=ids).hits if candidates else hits)[:k]
    texts = texts_of(session, [hit.id for hit in ranked])
    return [Suggestion(hit.id, texts[hit.id], hit.score) for hit in ranked if hit.id in texts]


def best_of(ids: NDArray[np.str_], shares: NDArray[np.float64], *, k: int) -> list[tuple[str, float]]:
    """The statements with the highest shares above 0.

    Parameters
    ----------
    ids : shape (n,)
    shares : shape (n,)
    k : maximum number to return

    Returns
    -------
    list
        Ids with their shares, best first, ties by id.
    """
    there = np.flatnonzero(shares > 0)
    best = there[top_k(shares[there], min(k, len(there)), tie_break=ids[there])]
    return [(str(ids[at]), float(shares[at])) for at in best]


def texts_of(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """The texts of statements, by id.

    Parameters
    ----------
    session : reads the records
    ids : of statements

    Returns
    -------
    dict
        Without the ids whose record is gone.
    """
    return {item: record.text for item, record in session.records(Statement, ids).items()}
