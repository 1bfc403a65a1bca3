"""Beam search over paths, shared by every strategy that grows paths.

:func:`beam_search` asks a :class:`Frontier` for neighbours and scores, one batch per depth, so it reads no store and computes no
embedding itself. :func:`attention_scores` scores paths by the embeddings of their nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.algorithms.fusion import top_k
from hlgraph.errors import InputError
from hlgraph.subgraph import spans

Nodes: TypeAlias = NDArray[np.intp]
Scores: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.str_] | NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Paths of one length, stored as prefixes and last nodes.

    Attributes
    ----------
    prefixes : shape (b, l - 1), the paths that are continued; (1, 0) for paths of one node
    owner : shape (m,), the row of ``prefixes`` that each path continues
    nodes : shape (m,), the last node of each path
    """

    prefixes: Nodes
    owner: Nodes
    nodes: Nodes

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def paths(self) -> Nodes:
        """All nodes of each path in order, shape (m, l)."""
        return np.column_stack((self.prefixes[self.owner], self.nodes))

    def take(self, at: Nodes) -> Candidates:
        """The paths at these indices, in this order."""
        return Candidates(self.prefixes, self.owner[at], self.nodes[at])


class Children(NamedTuple):
    """Nodes that may follow other nodes.

    Attributes
    ----------
    owner : shape (m,), index into the other nodes
    nodes : shape (m,), a node that may follow the owner
    keys : shape (m,), the id of that node, which breaks ties; None: the number of the node breaks ties
    """

    owner: Nodes
    nodes: Nodes
    keys: Keys | None = None


class Frontier(ABC):
    """Reads neighbours and computes scores for a search."""

    @abstractmethod
    def expand(self, nodes: Nodes) -> Children:
        """The nodes that may follow each of these (ascending, distinct)."""

    @abstractmethod
    def score(self, candidates: Candidates) -> NDArray[np.floating]:
        """The score of each path, shape (m,); higher is better."""

    @abstractmethod
    def rescore(self, candidates: Candidates) -> NDArray[np.floating]:
        """The exact score of each path, on the scale of one-node paths; never called without ``BeamOptions.rescored``."""


@dataclass(frozen=True, slots=True)
class BeamOptions:
    """Width, depth and pruning rules of a beam search; the defaults are HLG's.

    Attributes
    ----------
    beam_width : number of paths that a beam keeps at each depth, default 50
    max_depth : number of times a beam is expanded, default 3; a path has at most ``max_depth + 1`` nodes
    seed_width : number of seeds that are expanded, best first; None: ``beam_width``, or all seeds with ``is_per_seed``
    jump_points : number of best seeds that may follow any node, with or without an edge, default 0 (PropRAG: 3)
    rescored : number of children per depth, best first by their first score, that are scored exactly and may be kept;
        None: the first score is exact
    must_improve : drop a child that scores no better than its parent (HLG); the search ends when no child is left
    is_per_seed : every seed has a beam of its own (HLG, Eq. 8). The result is the union of the results of one search for each
        seed, found in as many batches as one search takes. False (default): one beam for all seeds, in which the best push out
        the others

    Raises
    ------
    InputError
        A number is too small, or ``jump_points`` is set with ``is_per_seed``: the beam of one seed has no other to jump to.
    """

    beam_width: int = 50
    max_depth: int = 3
    seed_width: int | None = None
    jump_points: int = 0
    rescored: int | None = None
    must_improve: bool = False
    is_per_seed: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        widths = {"beam_width": self.beam_width, "seed_width": self.seed_width, "rescored": self.rescored}
        check.at_least(1, **{name: width for name, width in widths.items() if width is not None})
        check.not_negative("max_depth", self.max_depth)
        check.not_negative("jump_points", self.jump_points)
        if self.is_per_seed and self.jump_points:
            raise InputError(
                f"jump_points is {self.jump_points} with is_per_seed, where no beam has another seed to jump to;"
                " set jump_points to 0 or is_per_seed to False"
            )


class BeamPath(NamedTuple):
    """A kept path and its score."""

    nodes: tuple[int, ...]
    score: float


class BeamStep(NamedTuple):
    """Counts of one depth, over all beams: how many paths were expanded, pruned and kept.

    ``children = revisits + duplicates + scored`` and ``scored = not_rescored + not_better + beam_full + kept``.

    Attributes
    ----------
    depth : 0 for the seeds
    expanded : paths that were continued
    children : continuations that were found
    revisits : pruned because the node is already in the path
    duplicates : pruned because another path of this depth has the same nodes, in the same beam
    scored : children that were scored
    not_rescored : pruned because they were not among the best, and only those are scored exactly
    not_better : pruned because they score no better than their parent
    beam_full : pruned because the beam was full
    kept : paths of the new beam
    best : best score of the new beam; NaN when it is empty
    """

    depth: int
    expanded: int
    children: int
    revisits: int
    duplicates: int
    scored: int
    not_rescored: int
    not_better: int
    beam_full: int
    kept: int
    best: float


class BeamResult(NamedTuple):
    """All paths kept at any depth, best first (ties break by the ids of their nodes, in order), and one step per depth."""

    paths: tuple[BeamPath, ...]
    steps: tuple[BeamStep, ...]

    @property
    def visited(self) -> Nodes:
        """Distinct nodes of all paths, ascending."""
        return np.unique(np.array([node for path in self.paths for node in path.nodes], dtype=np.intp))


class _Beam(NamedTuple):
    """Kept paths, best first: nodes of shape (b, l), scores (b,)."""

    paths: Nodes
    scores: Scores


def beam_search(
    seeds: Nodes, frontier: Frontier, *, options: BeamOptions = BeamOptions(), keys: Keys | None = None
) -> BeamResult:
    """The best paths from the seeds, of every length up to ``max_depth + 1``.

    At each depth all children of the beam are scored in one batch, and the best ``beam_width`` become the next beam. No
    path contains a node twice. Of several paths with the same nodes only the one with the best parent is scored,
    and it is continued from its last node. All paths of a depth have the same length, so a beam scores each set of nodes at
    most once. With ``is_per_seed`` all beams are expanded, and scored, in the same batch.

    Kinds of score: with ``rescored`` every kept path of two or more nodes has its exact score, however few children there
    were. A path of one node has the score of :meth:`Frontier.score`, which must be exact for one node (the embedding of a text
    equals that of the concatenation of this one text). No result mixes the two kinds.

    Width and quality: a wider beam may keep a path that crowds out the parent of the best path. The best score is therefore
    guaranteed not to fall with the width only if ``max_depth <= 1``, ``rescored`` is None, and scores depend on the path alone.

    Time: O(c log c + w log w) per depth for c children and w paths of all beams, plus the cost of the frontier.

    Parameters
    ----------
    seeds : shape (n,), nodes to start at, numbered from 0 by the caller; duplicates count once
    frontier : reads neighbours and computes scores
    options : width, depth and pruning rules
    keys : shape (n,), ids of the seeds, which break ties; None: their numbers break ties

    Returns
    -------
    BeamResult
        All kept paths, and counts of each depth.

    Raises
    ------
    InputError
        The lengths of ``seeds`` and ``keys`` differ, or a score is missing or NaN.

    References
    ----------
    HLG, section 4.1, Eq. 5-8 (``must_improve``, ``is_per_seed``); PropRAG, section 5.3 (``rescored``, ``jump_points``; length 3 is
    ``max_depth=2``).

    Examples
    --------
    >>> class Longer(Frontier):
    ...     def expand(self, nodes):
    ...         return Children(np.array([0, 0]), np.array([2, 3]))
    ...     def score(self, candidates):
    ...         return np.array([{(0,): 0.2, (1,): 0.4, (1, 2): 0.5}.get(tuple(path), 0.3) for path in candidates.paths])
    ...     rescore = score
    >>> result = beam_search(np.array([0, 1]), Longer(), options=BeamOptions(beam_width=1, max_depth=1))
    >>> [(path.nodes, path.score) for path in result.paths]
    [((1, 2), 0.5), ((1,), 0.4)]
    """
    keys = seeds if keys is None else keys
    check.same_length(seeds=seeds, keys=keys)
    names: dict[int, str | int] = dict(zip(seeds.tolist(), keys.tolist(), strict=True))
    nodes = np.array(sorted(names, key=lambda node: names[node]), dtype=np.intp)
    none = np.zeros(len(nodes), dtype=np.intp)
    scores = _checked(frontier.score(Candidates(np.zeros((1, 0), dtype=np.intp), none, nodes)), len(nodes))
    by_score = top_k(scores, len(nodes))
    jumps = nodes[by_score[: options.jump_points]]
    default = len(nodes) if options.is_per_seed else options.beam_width
    kept = by_score[: options.seed_width or default]
    beam = _Beam(nodes[kept, np.newaxis], scores[kept])
    full = len(nodes) - len(kept)
    steps = [BeamStep(0, 0, len(nodes), 0, 0, len(nodes), 0, 0, full, len(kept), _best(beam))]
    beams = [beam]
    while len(steps) <= options.max_depth and len(beam.scores):
        beam, step = _deepen(beam, frontier, jumps=jumps, names=names, options=options, depth=len(steps))
        beams.append(beam)
        steps.append(step)
    paths = [
        BeamPath(tuple(path), score)
        for each in beams
        for path, score in zip(each.paths.tolist(), each.scores.tolist(), strict=True)
    ]
    paths.sort(key=lambda path: (-path.score, [names[node] for node in path.nodes]))
    return BeamResult(tuple(paths), tuple(steps))


def _deepen(
    beam: _Beam, frontier: Frontier, *, jumps: Nodes, names: dict[int, str | int], options: BeamOptions, depth: int
) -> tuple[_Beam, BeamStep]:
    """The next beam and its step; the keys of the new nodes are added to ``names``."""
    last = np.unique(beam.paths[:, -1])
    following = frontier.expand(last)
    new, first = np.unique(following.nodes, return_index=True)
    keys = new if following.keys is None else following.keys[first]
    names.update(zip(new.tolist(), keys.tolist(), strict=True))
    owner, nodes = _continuations(beam, following, expanded=last, jumps=jumps)
    children = len(nodes)
    is_new = ~(beam.paths[owner] == nodes[:, np.newaxis]).any(axis=1)
    owner, nodes = owner[is_new], nodes[is_new]
    revisits = children - len(nodes)
    rank = _ranks(nodes, names)
    order = np.lexsort((rank, owner))
    # The beam of each path: 0 for a shared beam, else the seed that the path begins with.
    beams = beam.paths[:, 0] if options.is_per_seed else np.zeros(len(beam.paths), dtype=np.intp)
    first = order[np.sort(_first_of_each_set(Candidates(beam.paths, owner[order], nodes[order]), beams[owner[order]]))]
    candidates, rank = Candidates(beam.paths, owner[first], nodes[first]), rank[first]
    scored = len(candidates)
    # Ties break by the ids of the whole path, the parent's ids first.
    by_name = sorted(range(len(beam.paths)), key=lambda at: [names[node] for node in beam.paths[at].tolist()])
    place = np.empty(len(by_name), dtype=np.intp)
    place[by_name] = np.arange(len(by_name))
    ties = place[candidates.owner] * (int(rank.max(initial=0)) + 1) + rank
    scores = np.empty(0)
    if scored:
        scores = _checked(frontier.score(candidates), scored)
        if options.rescored is not None:
            best = _best_of_each(scores, ties, beams[candidates.owner], options.rescored)
            candidates, ties = candidates.take(best), ties[best]
            scores = _checked(frontier.rescore(candidates), len(best))
    exact = len(candidates)
    if options.must_improve:
        better = np.flatnonzero(scores > beam.scores[candidates.owner])
        candidates, ties, scores = candidates.take(better), ties[better], scores[better]
    allowed = len(candidates)
    kept = _best_of_each(scores, ties, beams[candidates.owner], options.beam_width)
    deeper = _Beam(candidates.take(kept).paths, scores[kept])
    step = BeamStep(
        depth, len(beam.scores), children, revisits, children - revisits - scored, scored, scored - exact,
        exact - allowed, allowed - len(kept), len(kept), _best(deeper),
    )  # fmt: skip
    return deeper, step


def _continuations(beam: _Beam, children: Children, *, expanded: Nodes, jumps: Nodes) -> tuple[Nodes, Nodes]:
    """Distinct pairs of a path's row in the beam and a next node."""
    order = np.argsort(children.owner, kind="stable")
    starts = np.searchsorted(children.owner[order], np.arange(len(expanded) + 1))
    last = np.searchsorted(expanded, beam.paths[:, -1])
    counts = np.diff(starts)[last]
    owner = np.repeat(np.arange(len(last)), counts)
    nodes = children.nodes[order][spans(starts[last], counts)]
    owner = np.concatenate((owner, np.repeat(np.arange(len(last)), len(jumps)))).astype(np.int64)
    nodes = np.concatenate((nodes, np.tile(jumps, len(last)))).astype(np.int64)
    span = int(nodes.max(initial=0)) + 1
    pairs = np.unique(owner * span + nodes)
    return pairs // span, pairs % span


def _ranks(nodes: Nodes, names: dict[int, str | int]) -> Nodes:
    """The rank of each node in the order of keys."""
    unique, inverse = np.unique(nodes, return_inverse=True)
    order = np.argsort(np.array([names[node] for node in unique.tolist()]), kind="stable")
    rank = np.empty(len(unique), dtype=np.intp)
    rank[order] = np.arange(len(unique))
    return rank[inverse]


def _first_of_each_set(candidates: Candidates, beams: Nodes) -> Nodes:
    """Indices of the first path of each set of nodes in each beam."""
    paths = candidates.paths
    small = np.sort(np.unique(paths, return_inverse=True)[1].reshape(paths.shape), axis=1)
    code = np.unique(beams, return_inverse=True)[1].astype(np.int64)
    for column in small.T:
        # Codes are renumbered after each column, so they stay far below 64 bits, however long the path.
        code = np.unique(code * (int(small.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return np.unique(code, return_index=True)[1]


def _best_of_each(scores: Scores, ties: Nodes, beams: Nodes, k: int) -> Nodes:
    """Indices of the ``k`` best of each beam, beam by beam, best first."""
    if not len(beams) or (beams == beams[0]).all():
        return top_k(scores, k, tie_break=ties)
    order = np.lexsort((ties, -scores, beams))
    in_order = beams[order]
    return order[np.arange(len(order)) - np.searchsorted(in_order, in_order) < k]


def _checked(values: NDArray[np.floating], count: int) -> Scores:
    scores = np.asarray(values, dtype=np.float64)
    if scores.shape != (count,):
        raise InputError(f"the scores for {count} paths have the shape {scores.shape}; give one score per path")
    check.not_nan("scores", scores)
    return scores


def _best(beam: _Beam) -> float:
    return float(beam.scores.max()) if len(beam.scores) else float("nan")


# Scores of paths, from the embeddings of their nodes.

_ROWS = 4_096  # paths per block, which bounds the memory


def attention_scores(
    candidates: Candidates, *, vectors: NDArray[np.float32], question: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Cosine between a question and the attention-weighted embedding of each path.

    ``e(P) = sum_i a_i e_i`` with ``a_i = exp(cos(q, e_i)) / sum_j exp(cos(q, e_j))``, and the score is ``cos(q, e(P))``. The
    denominator is the same for all nodes of a path and does not change the cosine, so it is not computed. The order of the
    nodes does not matter. What the children of one path share is computed once; O(m d + b l d) time for m children and b
    parents of length l.

    Parameters
    ----------
    candidates : m paths
    vectors : shape (n, d), the embedding of each node in the row of its number, of any length
    question : shape (d,), the embedding of the question, of any length

    Returns
    -------
    NDArray
        Shape (m,), float64, from -1 to 1; 0 if the embedding of the path or the question is zero.

    References
    ----------
    HLG, Eq. 6 and 7.

    Examples
    --------
    >>> pair = Candidates(np.array([[0]]), np.array([0]), np.array([1]))
    >>> attention_scores(pair, vectors=np.eye(2, dtype=np.float32), question=np.array([1, 0], dtype=np.float32)).round(3)
    array([0.939])
    """
    used, at = np.unique(np.concatenate((candidates.prefixes.ravel(), candidates.nodes)), return_inverse=True)
    if not len(used):
        return np.empty(0)
    matrix = vectors[used]
    asked = question / (np.linalg.norm(question) or np.float32(1.0))
    # Row-wise products: a matrix product would start the BLAS threads, which costs more than it saves here, and many times
    # more on a busy machine.
    dots = np.vecdot(matrix, asked).astype(np.float64)
    squares = np.vecdot(matrix, matrix).astype(np.float64)
    lengths = np.sqrt(squares)
    weights = np.exp(dots / np.where(lengths > 0, lengths, 1.0))
    prefixes = at[: candidates.prefixes.size].reshape(candidates.prefixes.shape)
    last = at[candidates.prefixes.size :]
    # |u + w e|^2 = |u|^2 + 2 w u.e + w^2 |e|^2 for the weighted sum u of a parent and the last node e.
    parents = np.einsum("bl,bld->bd", weights[prefixes].astype(np.float32), matrix[prefixes])
    owner = candidates.owner
    parts = [slice(start, start + _ROWS) for start in range(0, len(owner), _ROWS)]
    across = np.concatenate(
        [np.vecdot(parents[owner[part]], matrix[last[part]]).astype(np.float64) for part in parts] or [np.empty(0)]
    )
    w = weights[last]
    square = np.vecdot(parents, parents).astype(np.float64)[owner] + 2 * w * across + w**2 * squares[last]
    length = np.sqrt(np.maximum(square, 0.0))
    along = np.vecdot(parents, asked).astype(np.float64)[owner] + w * dots[last]
    scores: NDArray[np.float64] = np.clip(
        np.divide(along, length, out=np.zeros_like(along), where=length > 1e-6), -1, 1
    )
    return scores
