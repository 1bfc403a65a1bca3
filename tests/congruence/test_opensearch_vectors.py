"""The embedded store and OpenSearch give the same ids in the same order, with the same scores.

Scores by vector come from the same bytes by the same product. Scores by text come from the same counts by the same
formula, summed in the same order. So both are equal to the last bit or two (relative tolerance 1e-12).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opensearch_fixture import opened
from thoroughness import cases
from where_filters import KEYS, NUMBERS, WORDS, filters

from hlgraph.change import VectorBlock
from hlgraph.records import Hit, Kind, MetadataValue, Source
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch import query_bodies
from hlgraph.stores.protocols import VectorBatch, VectorQuery, VectorStore
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import In, Where, matches, source_values

_EMBEDDER = WordEmbedder(24)
_TEXT = (
    "bridge bridges river rivers canal lock steel wooden poet poets lighthouse keeper engineering engineer designed "
    "design opened opening 1931 1,000.50 U.S. O'Brien Mara's café naïve Brücke Fluss river-bank 橋を渡る 東京都 ж мост "
    "generalization relational hopping agreed ties sky skies the of and was by in who"
)
_VOCABULARY = _TEXT.split()
_SOURCES, _ROWS = 60, 400


class Pair(NamedTuple):
    """The same rows in both stores."""

    embedded: VectorStore
    server: VectorStore
    sources: tuple[Source, ...]


def _metadata(rng: random.Random) -> dict[str, MetadataValue]:
    values: list[MetadataValue] = [*WORDS, *NUMBERS, True, False, ("a", 1, True), (), 10**25]
    return {rng.choice(KEYS): rng.choice(values) for _ in range(rng.randint(0, 5))}


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_VOCABULARY, k=rng.choice([1, 3, 8, 20, 60, 150])))


def _blocks(rng: random.Random, sources: tuple[Source, ...]) -> tuple[VectorBlock, ...]:
    texts = [_text(rng) for _ in range(_ROWS)]
    texts[20:30] = texts[:10]  # ties
    ids = tuple(f"{rng.getrandbits(128):032x}" for _ in texts)
    owners = tuple(rng.choice([*(item.id for item in sources), "", "unknown"]) for _ in texts)
    return (VectorBlock(Kind.CHUNK, ids, tuple(texts), owners, 24, _EMBEDDER.embed(texts).tobytes()),)


@pytest.fixture(scope="module")
def pair(servers: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    rng = random.Random(4)
    sources = tuple(
        Source(f"{at:032x}", "c", rng.choice(WORDS), rng.choice(WORDS), "sum", _metadata(rng)) for at in range(_SOURCES)
    )
    embedded = open_stores(f"hlgraph://{tmp_path_factory.mktemp('store') / Path('s')}")
    with embedded.closing, opened(servers.opensearch) as server:
        found = Pair(embedded.stores.vectors, server, sources)
        first, second = _blocks(rng, sources), _blocks(rng, sources)
        for store in found[:2]:
            store.upsert(VectorBatch("c", "one", sources, first))
            store.upsert(VectorBatch("c", "two", (), second))
            store.delete("c", {"chunk": first[0].ids[100:150]})
        yield found


def same(ours: list[Hit], theirs: list[Hit]) -> None:
    assert [hit.id for hit in theirs] == [hit.id for hit in ours]
    assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours], rel=1e-12)


def query(rng: random.Random, where: Where | None = None) -> VectorQuery:
    text = _text(rng)
    mode = rng.choice(["vector", "text", "hybrid"])
    return VectorQuery(
        Kind.CHUNK,
        "c",
        rng.choice([1, 5, 20, 150, 1_000]),
        None if mode == "text" else _EMBEDDER.embed([text])[0],
        None if mode == "vector" else text,
        where,
        rng.choice([(), (), ("one",), ("two", "nobody")]),
    )


@pytest.mark.parametrize("seed", range(60))
def test_the_same_hits_in_the_same_order(pair: Pair, seed: int) -> None:
    asked = query(random.Random(seed))
    ours, theirs = pair.embedded.search(asked), pair.server.search(asked)
    assert [hit.id for hit in theirs] == [hit.id for hit in ours]
    assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours], rel=1e-12)


@settings(max_examples=cases(30, 100), suppress_health_check=[HealthCheck.too_slow])
@given(where=filters, seed=st.integers(0, 10**6))
def test_the_same_hits_inside_any_filter(pair: Pair, where: Where, seed: int) -> None:
    asked = query(random.Random(seed), where)
    same(pair.embedded.search(asked), pair.server.search(asked))


def test_filters_admit_the_sources_that_the_reference_admits(pair: Pair) -> None:
    rng = random.Random(9)
    for item in pair.sources:
        for key, held in source_values(item).items():
            values = [value for value in (held if isinstance(held, tuple) else (held,)) if value != 10**25]
            if key and values:
                where = In(key, tuple(rng.sample(values, 1)))
                asked = VectorQuery(Kind.CHUNK, "c", 10_000, _EMBEDDER.embed(["bridge"])[0], where=where)
                allowed = {other.id for other in pair.sources if matches(where, source_values(other))}
                assert item.id in allowed
                same(pair.embedded.search(asked), pair.server.search(asked))


@pytest.mark.parametrize("asked", [100, 0], ids=["asked", "copied"])
def test_the_same_neighbours_and_vectors(pair: Pair, monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    monkeypatch.setattr(query_bodies, "_ASKED", asked)
    vectors = _EMBEDDER.embed([_text(random.Random(seed)) for seed in range(40)])
    ours = pair.embedded.neighbours(Kind.CHUNK, "c", vectors=vectors, threshold=0.6)
    theirs = pair.server.neighbours(Kind.CHUNK, "c", vectors=vectors, threshold=0.6)
    assert len(ours.ids) > 100
    one = sorted(zip(ours.queries.tolist(), ours.ids, ours.similarities.tolist(), strict=True))
    two = sorted(zip(theirs.queries.tolist(), theirs.ids, theirs.similarities.tolist(), strict=True))
    assert [row[:2] for row in one] == [row[:2] for row in two]
    assert [row[2] for row in one] == pytest.approx([row[2] for row in two], abs=1e-6)
    names = sorted(pair.embedded.ids(Kind.CHUNK, "c"))
    assert set(names) == pair.server.ids(Kind.CHUNK, "c")
    ours_found, ours_matrix = pair.embedded.vectors(Kind.CHUNK, "c", ids=names)
    theirs_found, theirs_matrix = pair.server.vectors(Kind.CHUNK, "c", ids=names)
    assert ours_found == theirs_found
    np.testing.assert_array_equal(ours_matrix, theirs_matrix)
