"""The beam search against plain references that enumerate all paths, and by what must hold of any search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.algorithms.beam import (
    BeamOptions,
    BeamResult,
    Candidates,
    Children,
    Frontier,
    attention_scores,
    beam_search,
)
from hlgraph.errors import InputError

Path = tuple[int, ...]
Rule = Callable[[Path], float]


@dataclass
class Graph(Frontier):
    """A named graph with a rule that scores a path, as a frontier; it notes what it was asked."""

    edges: Mapping[int, Sequence[int]]
    rule: Rule
    exact: Rule | None = None
    names: Sequence[str] | None = None
    asked: list[Path] = field(default_factory=list)
    scored: list[Path] = field(default_factory=list)
    rescored: list[Path] = field(default_factory=list)

    def expand(self, nodes: NDArray[np.intp]) -> Children:
        self.asked.append(tuple(nodes.tolist()))
        pairs = [(at, to) for at, node in enumerate(nodes.tolist()) for to in self.edges.get(node, ())]
        owner, found = (np.array([pair[side] for pair in pairs], dtype=np.intp) for side in (0, 1))
        keys = None if self.names is None else np.array([self.names[node] for node in found], dtype=np.str_)
        return Children(owner, found, keys)

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        paths = [tuple(path) for path in candidates.paths.tolist()]
        self.scored += paths
        return np.array([self.rule(path) for path in paths])

    def rescore(self, candidates: Candidates) -> NDArray[np.float64]:
        assert self.exact is not None
        paths = [tuple(path) for path in candidates.paths.tolist()]
        self.rescored += paths
        return np.array([self.exact(path) for path in paths])

    def search(self, seeds: Sequence[int], **options: int | bool | None) -> BeamResult:
        array = np.array(seeds, dtype=np.intp)
        keys = None if self.names is None else np.array([self.names[seed] for seed in seeds], dtype=np.str_)
        return beam_search(array, self, options=BeamOptions(**options), keys=keys)  # type: ignore[arg-type]


def table(**scores: float) -> Rule:
    """Scores by the letters of a path (a is node 0); 0 for all others."""
    return lambda path: scores.get("".join(chr(ord("a") + node) for node in path), 0.0)


def kept(result: BeamResult) -> list[tuple[str, float]]:
    return [("".join(chr(ord("a") + node) for node in path.nodes), path.score) for path in result.paths]


# A line a - b - c - d and a branch b - e: the bridge b scores low, what lies behind it high.
LINE = {0: [1], 1: [0, 2, 4], 2: [1, 3], 3: [2], 4: [1]}


def test_a_worked_example_and_its_trace() -> None:
    graph = Graph(LINE, table(a=0.5, d=0.4, ab=0.3, dc=0.35, abc=0.6, abe=0.2, dcb=0.6))
    result = graph.search([0, 3], beam_width=2, max_depth=2)
    assert kept(result) == [("abc", 0.6), ("dcb", 0.6), ("a", 0.5), ("d", 0.4), ("dc", 0.35), ("ab", 0.3)]
    assert graph.asked == [(0, 3), (1, 2)]
    assert result.visited.tolist() == [0, 1, 2, 3]
    last = result.steps[-1]
    # ab: a again, c, e. dc: d again, b.
    assert (last.depth, last.expanded, last.children, last.revisits, last.duplicates) == (2, 2, 5, 2, 0)
    assert (last.scored, last.beam_full, last.kept, last.best) == (3, 1, 2, 0.6)


def test_a_set_of_nodes_is_looked_at_once() -> None:
    """ab and ba are the same; the one whose parent scores better stands."""
    graph = Graph({0: [1], 1: [0]}, table(a=0.1, b=0.2, ab=0.9, ba=0.3))
    result = graph.search([0, 1], beam_width=5, max_depth=3)
    assert kept(result) == [("ba", 0.3), ("b", 0.2), ("a", 0.1)]
    assert result.steps[1].duplicates == 1
    assert result.steps[2].revisits == result.steps[2].children == 1
    assert len(result.steps) == 3  # nothing is left to expand: depth 3 is not asked for


def test_must_improve_drops_children_not_better_than_parent() -> None:
    rule = table(a=0.5, ab=0.5, abc=0.9)
    assert kept(Graph(LINE, rule).search([0]))[0] == ("abc", 0.9)
    result = Graph(LINE, rule).search([0], must_improve=True)
    assert kept(result) == [("a", 0.5)]
    assert [step.not_better for step in result.steps] == [0, 1]


def test_jump_points_may_follow_any_node() -> None:
    rule = table(a=0.9, d=0.8, b=0.1, da=0.7, ad=0.7, ab=0.2)
    assert "ad" not in dict(kept(Graph(LINE, rule).search([0, 1, 3], beam_width=1, max_depth=1)))
    graph = Graph(LINE, rule)
    result = graph.search([0, 1, 3], beam_width=1, max_depth=1, jump_points=2)
    assert kept(result) == [("a", 0.9), ("ad", 0.7)]
    assert sorted(graph.scored[3:]) == [(0, 1), (0, 3)]  # the third seed is no jump point, and is joined anyway


def test_exact_scores_replace_the_first_ones_even_where_there_is_room_for_all() -> None:
    graph = Graph(LINE, lambda path: -len(path), exact=table(bc=0.4, ba=0.2))
    result = graph.search([1], beam_width=4, max_depth=1, rescored=2)
    assert kept(result) == [("bc", 0.4), ("ba", 0.2), ("b", -1.0)]
    assert graph.rescored == [(1, 0), (1, 2)]  # of three that tie, the first two by id
    assert result.steps[1].not_rescored == 1


def test_every_seed_is_expanded_where_the_width_of_seeds_says_so() -> None:
    rule = table(a=0.9, d=0.1, dc=0.8)
    assert ("dc", 0.8) not in kept(Graph(LINE, rule).search([0, 3], beam_width=1))
    result = Graph(LINE, rule).search([0, 3], beam_width=1, seed_width=10)
    assert kept(result)[:2] == [("a", 0.9), ("dc", 0.8)]
    assert [step.kept for step in result.steps] == [2, 1, 1, 1]


def test_every_seed_has_a_beam_of_its_own_where_the_paper_says_so() -> None:
    """d, whose children score low, is pushed out of one beam of width 1, not out of its own."""
    rule = table(a=0.9, d=0.1, ab=0.5, dc=0.3, abc=0.6, dcb=0.2)
    assert "dc" not in dict(kept(Graph(LINE, rule).search([0, 3], beam_width=1, max_depth=2)))
    graph = Graph(LINE, rule)
    result = graph.search([0, 3], beam_width=1, max_depth=2, is_per_seed=True)
    assert kept(result) == [("a", 0.9), ("abc", 0.6), ("ab", 0.5), ("dc", 0.3), ("dcb", 0.2), ("d", 0.1)]
    assert graph.asked == [(0, 3), (1, 2)]  # one request at each depth, for all beams
    assert [step.kept for step in result.steps] == [2, 2, 2]
    assert [path.nodes for path in graph.search([0, 3], seed_width=1, max_depth=0, is_per_seed=True).paths] == [(0,)]


def test_ties_break_by_id_not_by_number() -> None:
    names = ["z", "y", "x", "w", "v"]
    result = Graph(LINE, lambda path: 0.5, names=names).search([1, 0], beam_width=2, max_depth=1)
    # By id: y (1) before z (0). Of y: v (4), x (2), z (0).
    assert [path.nodes for path in result.paths] == [(1,), (1, 4), (1, 2), (0,)]


def test_nothing_to_begin_with() -> None:
    result = Graph(LINE, lambda path: 1.0).search([])
    assert result.paths == ()
    assert len(result.visited) == 0
    assert [step.kept for step in result.steps] == [0]
    assert math.isnan(result.steps[0].best)


def test_a_seed_named_twice_counts_once() -> None:
    assert kept(Graph({}, table(a=1.0)).search([0, 0])) == [("a", 1.0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_width": 0}, "beam_width is 0"),
        ({"seed_width": 0}, "seed_width is 0"),
        ({"rescored": 0}, "rescored is 0"),
        ({"max_depth": -1}, "max_depth is -1"),
        ({"jump_points": -1}, "jump_points is -1"),
    ],
)
def test_bad_options(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BeamOptions(**options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"jump_points is 3 with is_per_seed.*; set jump_points to 0"):
        BeamOptions(jump_points=3, is_per_seed=True)


def test_lengths_that_differ_and_scores_that_are_missing_are_refused() -> None:
    graph = Graph(LINE, lambda path: math.nan)
    with pytest.raises(InputError, match="same length"):
        beam_search(np.array([1, 2]), graph, keys=np.array(["a"]))
    with pytest.raises(InputError, match="scores: 1 element"):
        graph.search([0])

    class Short(Graph):
        def score(self, candidates: Candidates) -> NDArray[np.float64]:
            return np.zeros(3)

    with pytest.raises(InputError, match="scores for 2 paths"):
        Short(LINE, lambda path: 0.0).search([0, 1])


# Against plain references


def plain(edges: Mapping[int, Sequence[int]], rule: Rule, seeds: Sequence[int], options: BeamOptions) -> set[Path]:
    """The definition, slowly: lists of tuples, no batch, no numbers instead of paths."""
    ordered = sorted(set(seeds), key=lambda seed: (-rule((seed,)), seed))
    jumps = ordered[: options.jump_points]
    beam: list[Path] = [(seed,) for seed in ordered[: options.seed_width or options.beam_width]]
    found = set(beam)
    for _ in range(options.max_depth):
        children: dict[frozenset[int], tuple[Path, Path]] = {}
        for parent in beam:
            for node in sorted({*edges.get(parent[-1], ()), *jumps} - set(parent)):
                children.setdefault(frozenset((*parent, node)), ((*parent, node), parent))
        better = [path for path, parent in children.values() if not options.must_improve or rule(path) > rule(parent)]
        beam = sorted(better, key=lambda path: (-rule(path), path))[: options.beam_width]
        found |= set(beam)
    return found


def all_paths(edges: Mapping[int, Sequence[int]], seeds: Sequence[int], depth: int) -> set[Path]:
    """Every path without a node twice."""
    paths: set[Path] = {(seed,) for seed in seeds}
    longest = set(paths)
    for _ in range(depth):
        longest = {(*path, node) for path in longest for node in edges.get(path[-1], ()) if node not in path}
        paths |= longest
    return paths


@st.composite
def searches(draw: st.DrawFn) -> tuple[dict[int, list[int]], Rule, list[int]]:
    """A graph of at most six nodes, a score for every sequence of its nodes (many tie), and seeds."""
    size = draw(st.integers(1, 6))
    nodes = st.integers(0, size - 1)
    edges = {node: draw(st.lists(nodes, max_size=4)) for node in range(size)}
    values = draw(st.lists(st.integers(0, 9), min_size=11, max_size=11))

    def rule(path: Path) -> float:
        return values[sum((at + 2) * (node + 3) * (node + at) for at, node in enumerate(path)) % 11] / 10

    return edges, rule, draw(st.lists(nodes, min_size=1, max_size=4, unique=True))


_OPTIONS = st.builds(
    BeamOptions,
    beam_width=st.integers(1, 5),
    max_depth=st.integers(0, 4),
    seed_width=st.none() | st.integers(1, 4),
    jump_points=st.integers(0, 3),
    must_improve=st.booleans(),
)


@given(searches(), _OPTIONS)
def test_beam_matches_plain_search(search: tuple[dict[int, list[int]], Rule, list[int]], options: BeamOptions) -> None:
    edges, rule, seeds = search
    graph = Graph(edges, rule)
    result = beam_search(np.array(seeds), graph, options=options)
    assert {path.nodes for path in result.paths} == plain(edges, rule, seeds, options)
    assert all(path.score == rule(path.nodes) for path in result.paths)
    assert [(-path.score, path.nodes) for path in result.paths] == sorted((-p.score, p.nodes) for p in result.paths)
    assert len({frozenset(path) for path in graph.scored}) == len(graph.scored)
    for step in result.steps:
        assert step.children == step.revisits + step.duplicates + step.scored
        assert step.scored == step.not_rescored + step.not_better + step.beam_full + step.kept
    assert sum(step.kept for step in result.steps) == len(result.paths)
    again = beam_search(np.array(seeds[::-1]), Graph(edges, rule), options=options)
    assert str(again) == str(result)  # a NaN is not equal to itself


@given(searches(), _OPTIONS)
def test_per_seed_beams_equal_one_search_per_seed(
    search: tuple[dict[int, list[int]], Rule, list[int]], options: BeamOptions
) -> None:
    edges, rule, seeds = search
    options = replace(options, jump_points=0, seed_width=None)
    together = Graph(edges, rule, exact=rule)
    result = beam_search(np.array(seeds), together, options=replace(options, is_per_seed=True))
    single = [Graph(edges, rule, exact=rule) for _ in seeds]
    alone = [beam_search(np.array([seed]), graph, options=options) for seed, graph in zip(seeds, single, strict=True)]
    wanted = {path for each in alone for path in each.paths}
    assert set(result.paths) == wanted
    assert len(result.paths) == len(wanted)
    assert {path.nodes for path in result.paths} == {
        path for seed in seeds for path in plain(edges, rule, [seed], options)
    }
    # As many requests as the longest of the single searches has, and each step counts what theirs count.
    assert len(together.asked) == max(len(graph.asked) for graph in single)
    for depth, step in enumerate(result.steps):
        there = [each.steps[depth] for each in alone if depth < len(each.steps)]
        assert step[1:-1] == tuple(sum(counts) for counts in zip(*(each[1:-1] for each in there), strict=True))
    again = beam_search(np.array(seeds[::-1]), Graph(edges, rule, rule), options=replace(options, is_per_seed=True))
    assert str(again) == str(result)


@given(searches(), st.integers(0, 4))
def test_a_beam_with_room_for_all_finds_the_best_of_all_paths(
    search: tuple[dict[int, list[int]], Rule, list[int]], depth: int
) -> None:
    edges, rule, seeds = search

    def sets_only(path: Path) -> float:  # the score of a set, so that it does not matter which order of it is looked at
        return rule(tuple(sorted(path)))

    result = Graph(edges, sets_only).search(seeds, beam_width=10_000, max_depth=depth)
    wanted = max(sets_only(path) for path in all_paths(edges, seeds, depth))
    reached = {frozenset(path) for path in all_paths(edges, seeds, depth)}
    assert {frozenset(path.nodes) for path in result.paths} <= reached
    if depth <= 1:
        assert {frozenset(path.nodes) for path in result.paths} == reached
        assert result.paths[0].score == wanted


@given(searches(), _OPTIONS, st.integers(1, 8))
def test_wider_one_step_beam_never_lowers_best_score(
    search: tuple[dict[int, list[int]], Rule, list[int]], options: BeamOptions, more: int
) -> None:
    edges, rule, seeds = search

    narrow = replace(options, max_depth=1)
    wide = replace(narrow, beam_width=narrow.beam_width + more)
    found = [beam_search(np.array(seeds), Graph(edges, rule), options=each) for each in (narrow, wide)]
    assert found[0].paths[0].score <= found[1].paths[0].score


def test_a_wider_beam_can_be_worse() -> None:
    """Width 2 also expands b, whose children crowd out ac, the parent of the best path; so the docstring says."""
    edges = {0: [2], 1: [3, 4], 2: [5]}
    rule = table(a=0.9, b=0.8, ac=0.3, bd=0.5, be=0.5, acf=1.0)
    best = [Graph(edges, rule).search([0, 1], beam_width=width).paths[0].score for width in (1, 2)]
    assert best == [1.0, 0.9]


# Scores from embeddings


def test_attention_by_hand() -> None:
    """Eq. 6 and 7 with q = (1, 0), e1 = (1, 0), e2 = (0, 1): weights e / (e + 1) and 1 / (e + 1)."""
    question = np.array([1.0, 0.0], dtype=np.float32)
    path = Candidates(np.array([[0]]), np.array([0]), np.array([1]))
    found = attention_scores(path, vectors=np.eye(2, dtype=np.float32), question=question)
    assert found[0] == pytest.approx(math.e / math.hypot(math.e, 1))


def plain_score(path: Path, vectors: NDArray[np.float32], question: NDArray[np.float32]) -> float:
    def cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        return float(a @ b) / lengths if lengths > 1e-9 else 0.0

    q = question.astype(np.float64)
    rows = [vectors[node].astype(np.float64) for node in path]
    weights = [math.exp(cosine(q, row)) for row in rows]
    return cosine(
        q, sum((w / sum(weights) * row for w, row in zip(weights, rows, strict=True)), start=np.zeros(len(q)))
    )


@given(st.data())
def test_scores_of_a_batch_are_those_of_each_path(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 4))
    number = st.integers(-2, 2)
    vectors = np.array(data.draw(st.lists(st.tuples(number, number, number), min_size=5, max_size=5)), dtype=np.float32)
    question = np.array(data.draw(st.tuples(number, number, number)), dtype=np.float32)
    prefixes = [data.draw(st.permutations(range(5)))[: length - 1] for _ in range(3 if length > 1 else 1)]
    owner = np.array(data.draw(st.lists(st.integers(0, len(prefixes) - 1), max_size=6)), dtype=np.intp)
    nodes = np.array([data.draw(st.integers(0, 4)) for _ in owner], dtype=np.intp)
    batch = Candidates(np.array(prefixes, dtype=np.intp).reshape(len(prefixes), length - 1), owner, nodes)
    found = attention_scores(batch, vectors=vectors, question=question)
    wanted = [plain_score(tuple(path), vectors, question) for path in batch.paths.tolist()]
    assert found == pytest.approx(wanted, abs=1e-6)
