"""SYNONYM edges: which names may have some, and that they do not depend on how entities came in."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from extractors import RuleExtractor
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.algorithms import similarity
from hlgraph.algorithms.similarity import Pairs, ThresholdIndex
from hlgraph.change import VectorBlock
from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import entity_id, source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document, Entity, Extraction, Kind, Mention, Proposition, Relationship
from hlgraph.resolve import candidates
from hlgraph.resolve.candidates import SYNONYM_THRESHOLD, SynonymFinder, is_eligible
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_EMBEDDER = WordEmbedder()
_SHAPE = PullShape(frozenset({Relationship.SYNONYM}), frozenset({Kind.ENTITY}), hops=0)


def _names(chunk: ChunkInput) -> Extraction:
    """A document is a list of names, one per line."""
    mentions = tuple(map(Mention, chunk.text.split("\n")))
    return Extraction((Proposition(chunk.text, 0, len(chunk.text), mentions=mentions),))


_STEPS = pipeline.Steps(WholeChunker(), RuleExtractor(_names), _EMBEDDER)


def _documents(*groups: Sequence[str]) -> list[Document]:
    return [Document(f"doc:{at}", "\n".join(names)) for at, names in enumerate(groups)]


def _pairs(stores: Stores, corpus: str = "c") -> dict[tuple[str, str], float]:
    """The synonyms by name, in alphabetical order; raises when a pair is stored twice or with itself."""
    names = {
        item.id: item.name.casefold()
        for item in stores.graph.find(Kind.ENTITY, Scope(corpus))
        if isinstance(item, Entity)
    }
    graph = stores.graph.pull(list(names), _SHAPE, scope=Scope(corpus))
    edges = graph.edges[Relationship.SYNONYM].tocoo()
    found: dict[tuple[str, str], float] = {}
    for a, b, weight in zip(edges.row, edges.col, edges.data, strict=True):
        pair = tuple(sorted((names[str(graph.ids[a])], names[str(graph.ids[b])])))
        assert pair not in found
        assert pair[0] != pair[1]
        found[pair[0], pair[1]] = float(weight)
    return found


def _expected(names: Sequence[str]) -> dict[tuple[str, str], float]:
    """Pair by pair: the cosine, the eligibility of both, the same digits."""
    found = {}
    for a, b in itertools.combinations(sorted(set(map(str.casefold, names))), 2):
        cosine = float(np.dot(*_EMBEDDER.embed([a, b])))
        digits = ["".join(c if c.isdigit() else " " for c in name).split() for name in (a, b)]
        if cosine >= SYNONYM_THRESHOLD and digits[0] == digits[1] and is_eligible(a) and is_eligible(b):
            found[a, b] = cosine
    return found


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("lothair ii", True),
        ("apollo 11", True),
        ("b-52 bomber", True),
        ("may", True),
        ("march of dimes", True),
        ("the 39 steps", True),
        ("12 km", False),
        ("1931", False),
        ("3m company", False),
        ("may 1990", False),
        ("17 december 1903", False),
        ("sept 11", False),
        ("eu", False),
        ("c++", False),
        ("a b", False),
        ("дом", True),
        ("東京都", True),
        ("", False),
        ("...", False),
    ],
)
def test_names_that_may_have_synonyms(name: str, may: bool) -> None:
    assert is_eligible(name) is may


def test_close_names_are_synonyms_numbers_and_dates_are_not(tmp_path: Path) -> None:
    names = ("the river Orne valley", "river Orne valley the", "the river Orne valleys", "Orne")
    numbered = (
        "Apollo mission launch 11",
        "Apollo launch mission 11",
        "Apollo mission launch 12",
        "Apollo mission launch",
    )
    ineligible = ("May 1990 session", "session May 1990", "12 km road north", "road 12 km north", "EU", "eu E.U.")
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        documents = _documents(names, numbered, ineligible)
        pipeline.ingest(documents, "c", stores=opened.stores, steps=_STEPS)
        found = _pairs(opened.stores)
    assert ("river orne valley the", "the river orne valley") in found
    assert ("apollo launch mission 11", "apollo mission launch 11") in found
    assert not any({"apollo mission launch 12", "apollo mission launch"} & set(pair) for pair in found)
    assert not any("may 1990" in name or "12 km" in name for pair in found for name in pair)
    expected = _expected((*names, *numbered, *ineligible))
    assert found == pytest.approx(expected, abs=1e-4)


# Permutations of words have the same vector, and names that share most words are close.
_WORDS = ("river", "orne", "valley", "north", "bridge", "11", "12", "may", "eu")
_NAME = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4, unique=True).map(" ".join)


@settings(max_examples=12)
@given(
    names=st.lists(_NAME, min_size=2, max_size=14, unique=True),
    cuts=st.lists(st.integers(0, 14), max_size=4).map(sorted),
    batch=st.integers(1, 4),
)
def test_how_entities_are_divided_into_changes_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], cuts: list[int], batch: int
) -> None:
    groups = [names[start:end] for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True)]
    documents = _documents(*filter(None, groups))
    opened = open_stores(f"hlgraph://{tmp_path_factory.mktemp('s')}/s")
    with opened.closing:
        steps = replace(_STEPS, batch_sources=batch)
        pipeline.ingest(documents, "parts", stores=opened.stores, steps=steps)
        pipeline.ingest(_documents(names), "whole", stores=opened.stores, steps=_STEPS)
        parts, whole = (_pairs(opened.stores, corpus) for corpus in ("parts", "whole"))
    assert parts == whole
    assert whole == pytest.approx(_expected(names), abs=1e-4)


def test_all_names_of_a_corpus_are_paired_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs that an ingest stores, with half of the comparisons of all names with all names."""
    words = ("alda", "bren", "corin", "delm", "eska", "farn", "gild", "harn")
    names = [f"{one} {other}" for one in words for other in words] + ["alda 12", "alda 13"]
    compared = 0
    above = similarity._above

    def counted(bounds: tuple[NDArray[np.float32], NDArray[np.float32]], *given: Any, **options: Any) -> Pairs:
        nonlocal compared
        compared += len(bounds[0]) * len(bounds[1])
        return above(bounds, *given, **options)

    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        pipeline.ingest(_documents(names), "c", stores=opened.stores, steps=_STEPS)
        monkeypatch.setattr(candidates, "_SAMPLE", 6)
        monkeypatch.setattr(similarity, "_above", counted)
        pairs = list(candidates.all_synonyms("c", opened.stores, least=SYNONYM_THRESHOLD))
        ids = {entity_id("c", name): name for name in names}
        stored = {pair: round(cosine, 5) for pair, cosine in _pairs(opened.stores).items()}
        assert {tuple(sorted((ids[a], ids[b]))): cosine for a, b, cosine in pairs} == stored
    assert len(pairs) > 25
    assert [pair[:2] for pair in pairs] == sorted({pair[:2] for pair in pairs})
    assert compared < 0.6 * len(names) ** 2


def test_synonyms_go_with_their_entity_and_come_back_with_it(tmp_path: Path) -> None:
    documents = _documents(["Orne valley bridge"], ["valley Orne bridge", "Orne"], ["bridge Orne valley"])
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        stores = opened.stores
        pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
        before = _pairs(stores)
        assert len(before) == 3
        delete_sources([source_id("c", "doc:1")], "c", stores=stores)
        assert list(_pairs(stores)) == [("bridge orne valley", "orne valley bridge")]
        pipeline.ingest(documents, "c", stores=stores, steps=_STEPS)
        assert _pairs(stores) == before
        # One edit takes an entity away and brings one that is close to it: only the new one is joined to the third.
        edited = replace(documents[2], text="Bridge valley Orne")
        pipeline.ingest([edited], "c", stores=stores, steps=_STEPS)
        assert set(_pairs(stores)) == {
            ("bridge valley orne", "orne valley bridge"),
            ("bridge valley orne", "valley orne bridge"),
            ("orne valley bridge", "valley orne bridge"),
        }
        assert [item for item in opened.check() if not item.is_fine] == []


def test_synonyms_stay_within_their_corpus(tmp_path: Path) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        pipeline.ingest(_documents(["Orne valley"]), "a", stores=opened.stores, steps=_STEPS)
        pipeline.ingest(_documents(["valley Orne"]), "b", stores=opened.stores, steps=_STEPS)
        for corpus, name in (("a", "orne valley"), ("b", "valley orne")):
            assert _pairs(opened.stores, corpus) == {}
            graph = opened.stores.graph.pull([entity_id(corpus, name)], replace(_SHAPE, hops=3), scope=Scope(corpus))
            assert graph.ids.tolist() == [entity_id(corpus, name)]


def test_a_later_mention_of_a_stored_entity_adds_no_pair_twice(tmp_path: Path) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        pipeline.ingest(_documents(["Orne valley", "valley Orne"]), "c", stores=opened.stores, steps=_STEPS)
        before = _pairs(opened.stores)
        more = [Document("doc:more", "VALLEY ORNE\norne Valley\nvalley of the Orne valley")]
        pipeline.ingest(more, "c", stores=opened.stores, steps=_STEPS)
        assert before.items() <= _pairs(opened.stores).items()
        stats = opened.stores.graph.stats("c")[0]
        assert stats.relationships[Relationship.SYNONYM] == len(_pairs(opened.stores))


def test_names_without_synonyms_are_compared_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers and dates are a fifth of the names of a large document, and comparing is quadratic in the names."""
    compared: list[tuple[int, int]] = []
    query = ThresholdIndex.query

    def counted(index: ThresholdIndex, vectors: NDArray[np.float32], *, threshold: float) -> Pairs:
        compared.append((len(vectors), len(index)))
        return query(index, vectors, threshold=threshold)

    monkeypatch.setattr(ThresholdIndex, "query", counted)
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    groups = (("mara quill", "1999", "12 may 2001", "ivo brandt"), ("7 km",), ("the quill mara", "3", "ivo brand"))
    with opened.closing:
        finder = SynonymFinder("c", opened.stores, least=SYNONYM_THRESHOLD)
        rows = _EMBEDDER.embed([name for group in groups for name in group])
        found, end = [], 0
        for group in groups:
            end += len(group)
            block = VectorBlock.of(
                Kind.ENTITY, [(name, name, "") for name in group], matrix=rows[end - len(group) : end]
            )
            found += [(item.a, item.b) for item in finder.pairs(block, rows[:end], without=())]
    assert compared == [(2, 2), (2, 4)]
    assert ("mara quill", "the quill mara") in found
