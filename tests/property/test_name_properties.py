"""What a search finds depends on the texts of a corpus, not on its name, on the order of its ingest, or on the size of a batch."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from thoroughness import cases

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Calibration, Document
from hlgraph.retrieve import STRATEGIES, SearchRequest, search
from hlgraph.retrieve.request import Mode
from hlgraph.retrieve.retriever import units_of
from hlgraph.sdk.communities import Communities
from hlgraph.sdk.hierarchy import Hierarchy
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import Compare, Op

_PLACES = ("Tessing", "Orne", "Lake Vessel", "Aldane Bridge", "Orle Mill", "Rusk")
_VERBS = ("was born in", "wrote about", "met", "left", "designed")
_QUESTIONS = ("Who met Mara Quill in Tessing, and left Orne?", "Which bridge did Ivo Brandt design?")
_WHERE = (None, Compare("year", Op.GE, 1))
# Synonyms keep the threshold of the time when they were stored, so what walks over them remembers how a small corpus grew.
_ORDERED = tuple((strategy, "vector") for strategy in sorted(STRATEGIES.keys() - {"auto", "fused", "path"}))
_EVERY = tuple(itertools.product(sorted(STRATEGIES), get_args(Mode)))
_ASKED = tuple(itertools.product(_WHERE, _QUESTIONS))
_PAIRS = (_ASKED[:1], _ASKED[-1:])  # each filter and each question once


class _Crowded(WordEmbedder):
    """The cosines of its words as .6 + .2 cosine, so that no threshold is the usual one."""

    def __init__(self) -> None:
        super().__init__(64, name="crowded")

    @property
    def dimensions(self) -> int:
        return 66

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), 66), dtype=np.float32)
        found[:, :64] = np.sqrt(0.4) * super().embed(texts)
        found[:, 64] = np.sqrt(0.6)
        return found


class _Way(NamedTuple):
    """How a corpus came to be."""

    name: str
    order: int = 0
    is_single: bool = False
    batch: int = pipeline.BATCH_CHARACTERS


_EMBEDDER = _Crowded()
_WAYS = (_Way("staging"), _Way("production", 1), _Way("c", 2, is_single=True), _Way("c", 3, batch=700))


def _documents(seed: int, count: int = 16) -> list[Document]:
    """Notes about 170 people in six places, many sentences in several of them, some of them alike but for a year."""
    rng = random.Random(seed)
    people = [f"{first} {last}" for first in ("Mara", "Ivo", "Lena", "Otto", "Hanna") for last in _last_names(34)]
    people += ["Mara Quill", "Ivo Brandt"]
    every = [f"{rng.choice(people)} {rng.choice(_VERBS)} {rng.choice(_PLACES)} in {1800 + n % 4}." for n in range(60)]
    found = []
    for number in range(count):
        own = [f"{name} {rng.choice(_VERBS)} {rng.choice(_PLACES)}." for name in people[number::count]]
        text = " ".join(own + rng.sample(every, 6))
        found.append(Document(f"doc:{number}", text, f"Note {number % 5}", {"year": number % 3}))
    return found


def _last_names(count: int) -> list[str]:
    return [f"{a}{b}{c}" for a in ("Bal", "Dor", "Fen", "Gar", "Hul") for b in "aeiou" for c in ("nd", "rt")][:count]


@contextlib.contextmanager
def _filled(folder: Path, documents: Sequence[Document], way: _Way) -> Iterator[Stores]:
    steps = pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), _EMBEDDER, batch_characters=way.batch)
    shuffled = list(documents)
    if way.order:
        random.Random(way.order).shuffle(shuffled)
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        for some in [[item] for item in shuffled] if way.is_single else [shuffled]:
            assert not pipeline.ingest(some, way.name, stores=opened.stores, steps=steps).failed
        yield opened.stores


def _scale(stores: Stores, name: str) -> Calibration:
    found = stores.graph.stats(name, has_counts=False)[0].calibration
    assert found is not None
    return found


def _results(
    stores: Stores, name: str, asked: Sequence[tuple[str, Mode]]
) -> dict[tuple[object, ...], list[tuple[str, int, int, str, float]]]:
    Communities(name, stores).build()
    Hierarchy(name, stores, models=_Models(), chat=lambda _: None).build(summaries="extractive")
    found = {}
    combined = [(strategy, mode, unit) for strategy, mode in asked for unit in units_of(STRATEGIES[strategy])]
    for at, (strategy, mode, unit) in enumerate(combined):
        # The two pairs by turns; in a thorough run every filter with every question.
        for where, question in cases(_PAIRS[at % 2], _ASKED):
            request = SearchRequest(question, name, k=6, unit=unit, mode=mode, where=where)
            result = search(request, strategy=strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
            found[strategy, mode, unit, where, question] = [
                (item.source.uri, item.start, item.end, item.text, item.score) for item in result.evidence
            ]
    assert any(found.values())
    return found


@pytest.mark.parametrize("seed", range(cases(1, 8)))
def test_the_scale_of_the_cosines_is_that_of_the_texts(tmp_path: Path, seed: int) -> None:
    documents, scales = _documents(seed), []
    for at, way in enumerate((_Way("c"), *_WAYS)):
        with _filled(tmp_path / str(at), documents, way) as stores:
            scales.append(_scale(stores, way.name))
    assert scales[0].names >= 128
    assert scales == scales[:1] * len(scales)


@pytest.mark.parametrize("seed", range(cases(1, 6)))
def test_the_order_of_ingest_and_the_size_of_a_batch_change_no_bit(tmp_path: Path, seed: int) -> None:
    documents, results = _documents(seed), []
    for at, way in enumerate((_Way("c"), *(item for item in _WAYS if item.name == "c"))):
        with _filled(tmp_path / str(at), documents, way) as stores:
            results.append(_results(stores, "c", cases(_ORDERED[::2], _ORDERED)))
    for other in results[1:]:
        assert [key for key, found in results[0].items() if other[key] != found] == []


@pytest.mark.parametrize("seed", range(cases(1, 10)))
def test_the_name_of_a_corpus_changes_no_bit(tmp_path: Path, seed: int) -> None:
    documents, results = _documents(seed), []
    for name in cases(("c", "staging 2"), ("c", "staging", "production", "c 2")):
        with _filled(tmp_path / name, documents, _Way(name)) as stores:
            results.append(_results(stores, name, cases(_EVERY[::4], _EVERY)))
    for other in results[1:]:
        assert [key for key, found in results[0].items() if other[key] != found] == []


class _Models:
    embedder = _EMBEDDER

    def embedder_of(self, _: object) -> _Crowded:
        return _EMBEDDER
