"""The first pass in eight bits never loses a row of the k best, whatever the rows, the filter and the history are."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from thoroughness import cases

from hlgraph.change import VectorBlock
from hlgraph.records import Hit, Kind
from hlgraph.stores.embedded import vector_files
from hlgraph.stores.embedded.vector_files import CoarseRows
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores, VectorBatch, VectorQuery

Matrix = NDArray[np.float32]


def _rows(rng: np.random.Generator, count: int, dimensions: int, shape: str) -> Matrix:
    rows = rng.standard_normal((count, dimensions))
    if shape == "close":  # all nearly the same: the codes cannot tell them apart
        rows = rng.standard_normal(dimensions) + 1e-3 * rows
    if shape == "spiky":  # one number of a row rounds all others away
        rows[:, 0] *= 1_000
    if shape == "few":
        rows = rows[rng.integers(0, min(3, count), size=count)]
    if shape == "sizes":
        rows *= 10.0 ** rng.integers(-30, 10, size=(count, 1))
    if shape == "zeros":
        rows[rng.random(count) < 0.5] = 0.0
    found: Matrix = (rows / (1.0 if shape == "sizes" else np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)).astype(
        np.float32
    )
    return found


@settings(max_examples=cases(50, 150))
@given(
    seed=st.integers(0, 2**32),
    dimensions=st.sampled_from([1, 2, 3, 16, 100, 384]),
    count=st.integers(1, 300),
    shape=st.sampled_from(["any", "close", "spiky", "few", "sizes", "zeros"]),
    k=st.integers(1, 40),
    cut=st.integers(0, 300),
)
def test_no_row_of_the_k_best_is_lost(  # noqa: PLR0917 - one name for each thing that varies
    seed: int, dimensions: int, count: int, shape: str, k: int, cut: int
) -> None:
    rng = np.random.default_rng(seed)
    rows, question = _rows(rng, count, dimensions, shape), _rows(rng, 1, dimensions, "any")[0]
    if shape == "close":
        question = rows[0]
    held = CoarseRows.of(dimensions).grown(rows[: min(cut, count)]).grown(rows)
    assert held.size == count
    slots = np.flatnonzero(rng.random(count) < 0.7)
    for chosen in (None, slots):
        scores = np.vecdot(rows if chosen is None else rows[chosen], question)
        found = vector_files.candidates([held], question, k=k, slots=chosen)
        least = np.sort(scores)[-min(k, len(scores)) :][:1] if len(scores) else scores
        assert set(np.flatnonzero(scores >= least)) <= set(found.tolist()) if len(scores) else len(found) == 0


def test_few_rows_are_left_of_vectors_as_models_give_them() -> None:
    rows = _rows(np.random.default_rng(1), 20_000, 384, "any")
    held = CoarseRows.of(384).grown(rows)
    assert len(vector_files.candidates([held], rows[3], k=100)) < 1_500


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_row_that_is_no_number_hides_no_other(wrong: float) -> None:
    rows = _rows(np.random.default_rng(1), 200, 16, "any")
    rows[7, 3] = wrong
    held = CoarseRows.of(16).grown(rows)
    found = set(vector_files.candidates([held], rows[5], k=3).tolist())
    finite = np.delete(np.arange(200), 7)
    best = finite[np.argsort(-(rows[finite] @ rows[5]))[:3]]
    assert {7, *best.tolist()} <= found


def _write(stores: Stores, rows: Matrix, first: int) -> None:
    names = tuple(f"{first + at:032x}" for at in range(len(rows)))
    sources = tuple(f"{(first + at) % 2:032x}" for at in range(len(rows)))
    block = VectorBlock(Kind.STATEMENT, names, ("",) * len(names), sources, rows.shape[1], rows.tobytes())
    stores.vectors.upsert(VectorBatch("c", f"change {first}", (), (block,)))


def test_searches_go_on_while_rows_are_added(tmp_path: Path) -> None:
    rows = _rows(np.random.default_rng(4), 600, 24, "any")
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing, mock.patch.object(vector_files, "LEAST_ROWS", 10), ThreadPoolExecutor(3) as pool:
        _write(opened.stores, rows[:100], 0)
        query = VectorQuery(Kind.STATEMENT, "c", 1, rows[7])
        found = [pool.submit(opened.stores.vectors.search, query) for _ in range(60)]
        for start in range(100, 600, 100):
            _write(opened.stores, rows[start : start + 100], start)
            found.extend(pool.submit(opened.stores.vectors.search, query) for _ in range(20))
        assert {future.result()[0].id for future in found} == {f"{7:032x}"}


def _searches(stores: Stores, questions: Matrix, hidden: tuple[str, ...]) -> list[list[Hit]]:
    return [
        stores.vectors.search(VectorQuery(Kind.STATEMENT, "c", 5, question, hidden=hidden)) for question in questions
    ]


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), shape=st.sampled_from(["any", "close", "few", "zeros"]))
def test_a_search_gives_the_same_bits_with_and_without_a_first_pass(seed: int, shape: str) -> None:
    rng = np.random.default_rng(seed)
    folder = Path(tempfile.mkdtemp(prefix="hlgraph-"))
    try:
        opened = open_stores(f"hlgraph://{folder}/store")
        with opened.closing:
            stores = opened.stores
            questions = _rows(rng, 3, 24, "any")
            for step in range(3):
                _write(stores, _rows(rng, 120, 24, shape), 120 * step)
                if step == 2:
                    gone = [f"{at:032x}" for at in range(0, 200, 3)]
                    stores.vectors.delete("c", {"statement": gone})
                for hidden in ((), ("change 0",)):
                    plain = _searches(stores, questions, hidden)
                    with mock.patch.object(vector_files, "LEAST_ROWS", 10):
                        assert _searches(stores, questions, hidden) == plain
    finally:
        shutil.rmtree(folder)
