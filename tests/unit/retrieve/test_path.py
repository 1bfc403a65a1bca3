"""Paths of statements: what joins them, what they score, what they say about entities, and what the strategy finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.beam import BeamPath, Candidates
from hlgraph.algorithms.ppr import personalised_pagerank
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, project
from hlgraph.algorithms.word_counts import count_words
from hlgraph.errors import InputError
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Kind, Relationship
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.steps.statement_paths import (
    Coverage,
    PathFrontier,
    StatementGraph,
    entity_weights,
    statement_graph,
)
from hlgraph.retrieve.strategies.path import PathRetriever, within
from hlgraph.stores.protocols import PullShape, RankQuery, Scope, Stores
from hlgraph.subgraph import KINDS, Subgraph
from hlgraph.testing.corpus import CORPUS, fill
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import content_words

EMBEDDER = WordEmbedder()


def _graph() -> Subgraph:
    """Two chunks (c1: s1, s2; c2: s3), entities a b x y, x and y synonyms::

    s1 a b      s2 b x      s3 y
    """
    ids = np.array(["a", "b", "c1", "c2", "s1", "s2", "s3", "x", "y"])
    of = [Kind.ENTITY] * 2 + [Kind.CHUNK] * 2 + [Kind.STATEMENT] * 3 + [Kind.ENTITY] * 2
    kinds = np.array([KINDS.index(kind) for kind in of], dtype=np.uint8)
    at = {name: place for place, name in enumerate(ids.tolist())}

    def edges(*pairs: tuple[str, str, float]) -> sp.csr_array:
        rows, columns = [at[a] for a, _, _ in pairs], [at[b] for _, b, _ in pairs]
        return sp.csr_array(([w for _, _, w in pairs], (rows, columns)), shape=(9, 9), dtype=np.float32)

    mentions = edges(("s1", "a", 1), ("s1", "b", 1), ("s2", "b", 1), ("s2", "x", 1), ("s3", "y", 1))
    in_chunk = edges(("s1", "c1", 1), ("s2", "c1", 1), ("s3", "c2", 1))
    return Subgraph(
        ids,
        kinds,
        {
            Relationship.MENTIONS: mentions,
            Relationship.IN_CHUNK: in_chunk,
            Relationship.SYNONYM: edges(("x", "y", 0.9)),
        },
    )


def test_statements_follow_by_shared_and_by_synonymous_entities() -> None:
    joined = statement_graph(_graph())
    assert joined.ids.tolist() == ["s1", "s2", "s3"]
    assert (joined.following.toarray() > 0).tolist() == [[True, True, False], [True, True, True], [False, True, True]]


def test_the_graph_of_entities_and_passages_is_that_of_the_appendix() -> None:
    made = project(_graph(), ProjectionShape.ENTITY_PASSAGE)
    names = _graph().ids[made.nodes].tolist()
    assert names == ["a", "b", "c1", "c2", "x", "y"]
    found = {
        (names[row], names[column]): round(float(weight), 3)
        for row, column, weight in zip(*sp.find(made.adjacency), strict=True)
        if names[row] < names[column]
    }
    assert found == {
        ("a", "b"): 2.0, ("b", "x"): 2.0, ("x", "y"): 0.9,
        ("a", "c1"): 1.0, ("b", "c1"): 1.0, ("c1", "x"): 1.0, ("c2", "y"): 1.0,
    }  # fmt: skip


def test_entities_of_paths_have_the_sum_of_their_scores() -> None:
    joined = statement_graph(_graph())
    assert joined.entity_ids.tolist() == ["a", "b", "x", "y"]
    paths = [BeamPath((0, 1), 0.8), BeamPath((0,), 0.5)]  # s1 -> s2 share b; s1 alone
    # a: .8 + .5; b: .8 (s1) + .8 (s2) + .5; x: .8
    np.testing.assert_allclose(entity_weights(joined, paths, most=4), [1.3 / 2.1, 1, 0.8 / 2.1, 0])
    np.testing.assert_allclose(entity_weights(joined, paths, most=1), [0, 1, 0, 0])


def test_an_entity_reached_as_a_synonym_counts_once_more() -> None:
    joined = statement_graph(_graph())
    weights = entity_weights(joined, [BeamPath((1, 2), 0.6)], most=4)  # s2 (b, x) -> s3 (y), by x ~ y
    np.testing.assert_allclose(weights, [0, 0.5, 0.5, 1])  # y: .6 and .6 for the connection


def test_without_paths_all_entity_weights_are_zero() -> None:
    joined = statement_graph(_graph())
    assert not entity_weights(joined, [], most=5).any()
    assert not entity_weights(joined, [BeamPath((0,), -0.2)], most=5).any()


def _frontier(texts: Sequence[str], question: str, coverage: Coverage | None = None) -> PathFrontier:
    joined = statement_graph(_graph())
    return PathFrontier(
        joined,
        EMBEDDER.embed(texts),
        question=EMBEDDER.embed([question])[0],
        texts=lambda nodes: {node: texts[node] for node in nodes},
        embed=EMBEDDER.embed,
        coverage=coverage,
    )


TEXTS = ["Mara Quill built the bridge", "the bridge stands in Tessing", "Tessing lies on the Orne"]
QUESTION = "Who built the bridge at the Orne?"


def test_a_path_scores_the_cosine_of_the_mean_and_exactly_that_of_the_joined_texts() -> None:
    candidates = Candidates(np.array([[0]]), np.array([0, 0]), np.array([1, 2]))
    frontier = _frontier(TEXTS, QUESTION)
    question = EMBEDDER.embed([QUESTION])[0]
    rows = EMBEDDER.embed(TEXTS)
    means = [rows[[0, other]].mean(axis=0) for other in (1, 2)]
    expected = [float(mean @ question / np.linalg.norm(mean)) for mean in means]
    np.testing.assert_allclose(frontier.score(candidates), expected, atol=1e-6)
    joined = EMBEDDER.embed([f"{TEXTS[0]} {TEXTS[1]}", f"{TEXTS[0]} {TEXTS[2]}"])
    np.testing.assert_allclose(frontier.rescore(candidates), joined @ question, atol=1e-6)


def test_words_of_a_path_count_together() -> None:
    coverage = Coverage(count_words(content_words(QUESTION), TEXTS))
    paths = np.array([[0, 1], [0, 2], [1, 2]])
    both, all_three, neither = coverage.of(paths)
    assert all_three == pytest.approx(1)  # built, bridge, orne
    assert 0 < neither < all_three
    assert both < all_three
    candidates = Candidates(np.array([[0]]), np.array([0]), np.array([2]))
    plain = _frontier(TEXTS, QUESTION).score(candidates)
    with_words = _frontier(TEXTS, QUESTION, coverage).score(candidates)
    np.testing.assert_allclose(with_words, 0.6 * np.maximum(plain, 0) + 0.4)
    assert Coverage(count_words([], TEXTS)).of(paths).tolist() == [0, 0, 0]


def test_other_chunks_than_those_asked_for_are_left_out() -> None:
    found = within(_graph(), ["c2"])
    assert found.ids.tolist() == ["a", "b", "c2", "s1", "s2", "s3", "x", "y"]
    assert found.edges[Relationship.IN_CHUNK].nnz == 1


@pytest.fixture(scope="module")
def stores(module_stores: Stores) -> Stores:
    fill(module_stores)
    return module_stores


def _ask(stores: Stores, chosen: PathRetriever, **changes: object) -> SearchResult:
    request = replace(SearchRequest("Where was the designer of the Aldane Bridge born?", CORPUS, 3), **changes)
    return search(request, chosen, stores=stores, embedder=_embedder(stores), reranker=LexicalReranker())


def _embedder(stores: Stores) -> WordEmbedder:
    fingerprint = stores.graph.stats(CORPUS, has_counts=False)[0].embedding
    assert fingerprint == EMBEDDER.fingerprint
    return EMBEDDER


@pytest.mark.parametrize("preset", ["paper", "tuned", "fast"])
def test_bridging_passage_is_returned_with_its_path(stores: Stores, preset: str) -> None:
    chosen = retriever("path", preset)
    assert isinstance(chosen, PathRetriever)
    found = _ask(stores, chosen, unit="chunk")
    assert {item.source.uri for item in found.evidence[:2]} == {"doc:bridge", "doc:engineer"}
    assert [item.score for item in found.evidence] == sorted((item.score for item in found.evidence), reverse=True)
    path = next(item.why["path"] for item in found.evidence if item.source.uri == "doc:engineer")
    assert "Mara Quill was born in Tessing." in str(path)
    statements = _ask(stores, chosen, unit="statement")
    texts = [item.text for item in statements.evidence]
    assert "Mara Quill was born in Tessing." in texts
    assert [item.score for item in statements.evidence] == sorted(
        (item.score for item in statements.evidence), reverse=True
    )


def test_the_seeds_of_stage_1_are_the_entities_of_the_best_statements(stores: Stores) -> None:
    """Against the story of section 5.2.1 told with other means: pull everything, add up, walk."""
    request = SearchRequest("Where was the designer of the Aldane Bridge born?", CORPUS, 4, unit="chunk")
    found = search(
        request, PathRetriever(statements=2, passages=4), stores=stores, embedder=EMBEDDER, reranker=LexicalReranker()
    )
    relationships, kinds = INGREDIENTS[ProjectionShape.ENTITY_PASSAGE]
    statements = [item.id for item in stores.graph.find(Kind.STATEMENT, Scope(CORPUS))]
    graph = stores.graph.pull(statements, PullShape(relationships, kinds, hops=4), scope=Scope(CORPUS))
    _, vectors = stores.vectors.vectors(Kind.STATEMENT, CORPUS, ids=statements)
    cosines = vectors @ EMBEDDER.embed([request.question])[0]
    best = sorted(zip(statements, cosines.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))[:2]
    mentions = graph.edges[Relationship.MENTIONS]
    rows = [int(graph.index([name])[0]) for name, _ in best]
    seeds = {int(entity) for row in rows for entity in mentions[[row]].indices}
    made = project(graph, ProjectionShape.ENTITY_PASSAGE)
    weights: NDArray[np.float64] = np.isin(made.nodes, sorted(seeds)).astype(np.float64)
    scores = personalised_pagerank(made.adjacency, weights, damping=0.75).scores
    expected = dict(zip(graph.ids[made.nodes].tolist(), scores.tolist(), strict=True))
    for item in found.evidence:
        assert item.why["stage_1"] == pytest.approx(expected[item.chunk_id], abs=1e-3)


def test_a_walk_without_seeds_is_empty(stores: Stores) -> None:
    query = RankQuery(ProjectionShape.ENTITY_PASSAGE, {"no such id": 1.0}, 5)
    assert stores.graph.rank(query, scope=Scope(CORPUS)) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_width": -1}, "beam_width is -1; it must be at least 0"),
        ({"beam_width": 2.5}, "beam_width is 2.5; it must be a whole number"),
        ({"beam_width": True}, "beam_width is True; it must be a whole number"),
        ({"max_length": 0}, "max_length is 0; it must be at least 1"),
        ({"stages": "none"}, "stages is 'none'; choose one of: both, first, second"),
        (
            {"stages": "first", "beam_width": 8},
            "beam_width is 8, but stages is 'first', so stage 2 does not run; leave",
        ),
        ({"stages": "first", "damping": 0.3}, "damping is 0.3, but stages is 'first'.*or set stages to 'both'"),
        ({"stages": "second", "entities": 5}, "entities is 5, but stages is 'second', so stage 1 does not run"),
        ({"beam_width": 0, "max_length": 2}, "max_length is 2, but beam_width is 0, so there is no beam search; leave"),
        ({"beam_width": 0, "path_entities": 9}, "path_entities is 9, but beam_width is 0.*set beam_width to 1 or more"),
        ({"max_length": 1, "jump_points": 50}, "jump_points is 50, but max_length is 1, so no path grows"),
        ({"path_entities": 0, "paths": 9}, "paths is 9, but path_entities is 0, so no path is exploited"),
        (
            {"rescored": 2},
            "rescored is 2, and beam_width is 4: only paths that are scored again are kept; set rescored to 4",
        ),
        ({"seed_entities": 0, "path_entities": 0, "passage_weight": 0.0}, "stage 2 has nothing to start from; set one"),
        ({"seed_entities": 0, "beam_width": 0, "passage_weight": 0.0}, "stage 2 has nothing to start from; set one"),
        ({"damping": 1.5}, "damping is 1.5"),
        ({"damping_first": 1.0}, "damping_first is 1.0; it must be from 0 to below 1"),
        ({"passage_weight": -1.0}, "passage_weight is -1.0"),
        ({"words": "some"}, "words is 'some'; choose one of: none, statements, all"),
        ({"epsilon": 0.0}, "epsilon is 0.0; it must be a finite number above 0"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(PathRetriever(), **changes)


_OFF: tuple[dict[str, Any], ...] = (
    {"jump_points": 0},
    {"path_entities": 0},
    {"seed_entities": 0},
    {"rescored": 0},
    {"beam_width": 0},
    {"max_length": 1},
    {"max_length": 1, "jump_points": 0, "rescored": 0},
    {"beam_width": 0, "jump_points": 0, "rescored": 0, "path_entities": 0},
    {"stages": "first"},
    {"stages": "second"},
    {"jump_points": 1000},
)


@pytest.mark.parametrize("changes", _OFF, ids=str)
@pytest.mark.parametrize("preset", ["paper", "tuned", "fast"])
def test_every_part_of_the_ablations_can_be_turned_off(stores: Stores, preset: str, changes: dict[str, Any]) -> None:
    chosen = replace(retriever("path", preset), **changes)  # type: ignore[type-var]
    assert isinstance(chosen, PathRetriever)
    found = _ask(stores, chosen, unit="chunk")
    assert {item.source.uri for item in found.evidence} >= {"doc:bridge"}
    assert _ask(stores, chosen, unit="statement").evidence


def _scores(result: SearchResult, name: str) -> dict[str, float]:
    return {item.chunk_id: float(item.why[name]) for item in result.evidence}


def test_single_stage_ranks_by_first_pagerank_or_by_search(stores: Stores) -> None:
    both = _ask(stores, PathRetriever(), unit="chunk", k=9)
    first = _ask(stores, PathRetriever(stages="first"), unit="chunk", k=9)
    assert _scores(first, "pagerank") == pytest.approx(_scores(both, "stage_1"))
    assert [step.name for step in first.explain.steps if step.name in ("beam", "pagerank")] == []
    second = _ask(stores, PathRetriever(stages="second", passages=2), unit="chunk", k=9)
    assert [step.name for step in second.explain.steps if step.name.startswith("rank ")] == []
    cosines = _ask(stores, PathRetriever(stages="second", passages=9), unit="chunk", k=9)
    closest = sorted(_scores(cosines, "search").items(), key=lambda pair: (-pair[1], pair[0]))
    focus = {item.chunk_id for item in second.evidence[:2]}
    assert focus == {name for name, _ in closest[:2]}
    assert len(second.evidence) == len(closest)  # the rest of the search follows


def test_beam_width_zero_exploits_no_path(stores: Stores) -> None:
    without = _ask(stores, PathRetriever(beam_width=0), unit="chunk", explain=True)
    explored = _ask(stores, PathRetriever(path_entities=0), unit="chunk")
    assert _scores(without, "pagerank") == pytest.approx(_scores(explored, "pagerank"))
    assert [hop for hop in without.explain.hops if hop.name == "beam"] == []
    assert all(len(path.nodes) == 1 for path in without.explain.paths)


def test_without_exact_scores_the_question_alone_is_embedded(stores: Stores) -> None:
    def embedded(chosen: PathRetriever) -> int:
        return sum(step.count for step in _ask(stores, chosen).explain.steps if step.name == "embed")

    assert embedded(PathRetriever(rescored=0)) == 1
    assert embedded(PathRetriever()) > 1


def test_a_weight_of_0_is_no_count() -> None:
    assert replace(PathRetriever(), passage_weight=0, damping=0).passage_weight == 0


def test_fast_preset_embeds_only_the_question(stores: Stores) -> None:
    class Counting(WordEmbedder):
        count = 0

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.count += len(texts)
            return super().embed(texts)

    embedder = Counting()
    request = SearchRequest("Where was the designer of the Aldane Bridge born?", CORPUS, 4, unit="chunk", explain=True)
    found = search(request, retriever("path", "fast"), stores=stores, embedder=embedder, reranker=LexicalReranker())
    assert embedder.count == 1
    assert {call.name for call in found.explain.calls if call.name.startswith("search")} == {
        "search statement by vector",
        "search chunk by vector",
    }


def test_the_vectors_of_statements_and_passages_are_read_at_once(stores: Stores) -> None:
    found = _ask(stores, PathRetriever(passage_weight=0.05), unit="chunk", explain=True)
    reads = [(call.name, call.step) for call in found.explain.calls if call.name == "read vectors chunk"]
    assert reads == [("read vectors chunk", "vectors statement")]


def test_the_explanation_names_seeds_hops_and_paths(stores: Stores) -> None:
    found = _ask(stores, PathRetriever(), unit="chunk", explain=True)
    assert {seeds.origin for seeds in found.explain.seeds} >= {"vector", "statements"}
    assert [hop.depth for hop in found.explain.hops if hop.name == "beam"] == [1, 2]
    assert found.explain.paths


def test_statement_graph_is_a_tuple_of_arrays() -> None:
    joined = statement_graph(_graph())
    assert isinstance(joined, StatementGraph)
    assert joined.mentions.shape == (3, 4)
    np.testing.assert_array_equal(joined.synonyms.toarray(), joined.synonyms.toarray().T)
