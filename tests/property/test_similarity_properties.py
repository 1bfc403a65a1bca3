"""ThresholdIndex finds the pairs that a plain product finds, however rows and queries were divided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from thoroughness import cases

from hlgraph.algorithms import similarity
from hlgraph.algorithms.similarity import Pairs, ThresholdIndex, pairs_between, pairs_within

Matrix = NDArray[np.float32]
_MARGIN = 2e-6  # between float32 and exact arithmetic; pairs this close to the threshold may fall on either side


def _unit(rows: NDArray[np.float64]) -> Matrix:
    unit: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _vectors(rng: np.random.Generator, count: int, dimensions: int, *, clusters: int = 0, rank: int = 0) -> Matrix:
    """Unit rows: random, or around some centres, or in a subspace."""
    rows = rng.standard_normal((count, dimensions))
    if clusters:
        rows = rng.standard_normal((clusters, dimensions))[rng.integers(clusters, size=count)] + 0.3 * rows
    if rank:
        rows = rows[:, :rank] @ rng.standard_normal((rank, dimensions))
    return _unit(rows)


def _check_exact(found: Pairs, queries: Matrix, base: Matrix, threshold: float) -> None:
    """Every pair at the threshold and nothing below it, in order, each once, with its cosine."""
    cosines = queries.astype(np.float64) @ base.astype(np.float64).T
    pairs = list(zip(found.queries.tolist(), found.base.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    certain = {(int(q), int(b)) for q, b in np.argwhere(cosines >= threshold + _MARGIN)}
    possible = {(int(q), int(b)) for q, b in np.argwhere(cosines >= threshold - _MARGIN)}
    assert certain <= set(pairs) <= possible
    np.testing.assert_allclose(found.similarities, cosines[found.queries, found.base], atol=_MARGIN)
    assert (found.similarities >= np.float32(threshold)).all()


def _check_same(found: Pairs, other: Pairs) -> None:
    for one, two in zip(found, other, strict=True):
        np.testing.assert_array_equal(one, two)


def _check_within(found: Pairs, both: Pairs) -> None:
    """Each pair of different rows once, in the same order and with the same bits as a query of all rows gives them."""
    keep = both.queries < both.base
    np.testing.assert_array_equal(found.queries, both.queries[keep])
    np.testing.assert_array_equal(found.base, both.base[keep])
    np.testing.assert_array_equal(found.similarities, both.similarities[keep])


@settings(max_examples=cases(20, 40))
@given(
    seed=st.integers(0, 2**32),
    dimensions=st.sampled_from([1, 2, 16, 95, 96, 97, 130]),
    count=st.integers(1, 120),
    clusters=st.integers(0, 9),
    rank=st.sampled_from([0, 0, 1, 3]),
    threshold=st.sampled_from([-1.0, 0.0, 0.3, 0.8, 0.95, 1.0, 1.5]) | st.floats(-1, 1, width=32),
)
def test_the_pairs_are_those_of_a_plain_product(  # noqa: PLR0917 - one name for each thing that varies
    seed: int, dimensions: int, count: int, clusters: int, rank: int, threshold: float
) -> None:
    rng = np.random.default_rng(seed)
    base = _vectors(rng, count, dimensions, clusters=clusters, rank=min(rank, dimensions))
    queries = np.concatenate([base[: count // 2], _vectors(rng, 20, dimensions)])
    index = ThresholdIndex(base[: rng.integers(1, count + 1)])
    index.add(base)
    assert len(index) == count
    found = index.query(queries, threshold=threshold)
    _check_exact(found, queries, base, threshold)
    _check_same(pairs_between(queries, base, threshold=threshold), found)
    _check_within(pairs_within(base, threshold=threshold), index.query(base, threshold=threshold))


@settings(max_examples=cases(8, 15))
@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(0, 200), max_size=5).map(sorted),
    query_cuts=st.lists(st.integers(0, 70), max_size=3).map(sorted),
    is_attached=st.booleans(),
)
def test_how_rows_and_queries_were_divided_changes_no_bit(
    seed: int, cuts: list[int], query_cuts: list[int], is_attached: bool
) -> None:
    rng = np.random.default_rng(seed)
    base, queries = _vectors(rng, 200, 100, clusters=7), _vectors(rng, 70, 100, clusters=7)
    queries[:10] = base[:10]
    whole = ThresholdIndex(base[:50])
    whole.add(base)
    expected = whole.query(queries, threshold=0.5)
    parts = ThresholdIndex(base[:50])
    for start, end in zip([0, *cuts], [*cuts, 200], strict=True):
        if is_attached:
            parts.attach(base[:end])
        else:
            parts.add(base[start:end])
    found = [
        (q + start, b, c)
        for start, end in zip([0, *query_cuts], [*query_cuts, 70], strict=True)
        for q, b, c in zip(*parts.query(queries[start:end], threshold=0.5), strict=True)
    ]
    assert found == list(zip(*expected, strict=True))


@pytest.mark.parametrize("sample", ["rank 1", "one row", "zeros", "fewer rows than dimensions", "elsewhere"])
def test_any_sample_gives_the_same_pairs(sample: str) -> None:
    rng = np.random.default_rng(5)
    base = _vectors(rng, 300, 200, clusters=12)
    samples = {
        "rank 1": np.repeat(base[:1], 50, axis=0),
        "one row": base[:1],
        "zeros": np.zeros((4, 200), dtype=np.float32),
        "fewer rows than dimensions": base[:30],
        "elsewhere": _vectors(rng, 150, 200),
    }
    index = ThresholdIndex(samples[sample])
    index.add(base)
    found = index.query(base, threshold=0.8)
    assert len(found.queries) > 1_000
    _check_exact(found, base, base, 0.8)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_a_tail_lost_in_rounding_prunes_no_pair(threshold: float) -> None:
    """Rows that lie in the head but for a part of 3e-4, which float32 cannot tell from none, against rows that do not."""
    rng = np.random.default_rng(0)
    dimensions, small = 384, 3e-4
    basis = np.linalg.qr(rng.standard_normal((dimensions, 60)))[0]
    inside, outside = basis[:, :50], basis[:, 55]
    sample = rng.standard_normal((500, 50)) @ inside.T
    sample /= np.linalg.norm(sample, axis=1, keepdims=True)
    queries = _unit(np.sqrt(1 - small**2) * sample + small * outside)
    # The head alone is half of `small` short of the threshold; both tails together carry the pair over it.
    height = threshold - 0.5 * small * np.sqrt(1 - threshold**2)
    base = _unit(height * sample + np.sqrt(1 - height**2) * outside)
    index = ThresholdIndex(sample.astype(np.float32))
    index.add(base)
    found = index.query(queries, threshold=threshold)
    assert set(range(500)) <= {int(q) for q, b in zip(found.queries, found.base, strict=True) if q == b}
    _check_exact(found, queries, base, threshold)


def test_blocks_of_queries_and_rows_meet_without_a_gap() -> None:
    rng = np.random.default_rng(11)
    base = _vectors(rng, 32_768 + 700, 8, clusters=4_000)
    queries = np.concatenate([base[32_700:32_900], _vectors(rng, 1_024, 8)])  # their block ends behind the 1,024th
    index = ThresholdIndex(base[:4_096])
    index.add(base[:32_768])
    index.add(base[32_768:])
    found = index.query(queries, threshold=0.99)
    assert {int(b) for q, b in zip(found.queries, found.base, strict=True) if b == q + 32_700} == set(
        range(32_700, 32_900)
    )
    assert found.queries.max() > 1_024
    _check_exact(found, queries, base, 0.99)
    _check_same(pairs_between(queries, base, threshold=0.99), found)


def test_blocks_of_rows_meet_within() -> None:
    rows = _vectors(np.random.default_rng(12), 2_500, 130, clusters=400)
    rows[1_023:1_026] = rows[5]  # around the end of a block
    found = pairs_within(rows, threshold=0.8)
    assert {(5, 1_023), (1_023, 1_024), (1_024, 1_025)} <= set(
        zip(found.queries.tolist(), found.base.tolist(), strict=True)
    )
    index = ThresholdIndex(rows[:300])
    index.add(rows)
    _check_within(found, index.query(rows, threshold=0.8))
    assert [len(part) for part in pairs_within(rows[:0], threshold=0.8)] == [0, 0, 0]
    assert [len(part) for part in pairs_within(rows[:1], threshold=0.8)] == [0, 0, 0]


def test_no_rows_and_no_queries_give_no_pairs() -> None:
    rows = _vectors(np.random.default_rng(1), 3, 20)
    index = ThresholdIndex(rows)
    assert [len(part) for part in index.query(rows, threshold=-1.0)] == [0, 0, 0]
    index.add(rows[:0])
    index.attach(rows[:0])
    assert len(index) == 0
    index.add(rows)
    found = index.query(rows[:0], threshold=-1.0)
    assert [len(part) for part in found] == [0, 0, 0]
    assert [part.dtype.kind for part in found] == ["i", "i", "f"]
    assert ThresholdIndex(rows[:0]).query(rows, threshold=0.5).queries.size == 0


def test_zero_rows_are_similar_to_nothing() -> None:
    """The rows of deleted vectors are zeros in the file that the index reads."""
    base = _vectors(np.random.default_rng(2), 6, 130)
    base[2:4] = 0.0
    index = ThresholdIndex(base)
    index.attach(base)
    found = index.query(base, threshold=0.5)
    assert {2, 3}.isdisjoint(found.base.tolist())
    _check_exact(found, base, base, 0.5)


def test_a_memory_map_can_be_attached_as_it_grows(tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = _vectors(np.random.default_rng(3), 500, 130, clusters=5)
    path = tmp_path_factory.mktemp("matrix") / "rows.f32"
    path.write_bytes(rows.tobytes())
    index, some = ThresholdIndex(rows[:100]), ThresholdIndex(rows[:100])
    for count in (1, 120, 120, 500):
        held = np.memmap(path, dtype="<f4", mode="r", shape=(count, 130))
        index.attach(held)
        assert len(index) == count
        _check_exact(index.query(rows[:60], threshold=0.7), rows[:60], rows[:count], 0.7)
        places = np.arange(0, count, 3)
        some.attach(held, places=places)
        assert len(some) == len(places)
        _check_exact(some.query(rows[:60], threshold=0.7), rows[:60], rows[places], 0.7)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_pairs_are_the_same_whether_a_block_is_multiplied_or_not(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random directions: 96 components bound little, so that most pairs of a block are candidates."""
    rng = np.random.default_rng(7)
    rows = _vectors(rng, 700, 384)
    queries = _unit(np.concatenate([rows[:40] + 0.02 * rng.standard_normal((40, 384)), rng.standard_normal((9, 384))]))
    monkeypatch.setattr(similarity, "_DENSE", share)
    index = ThresholdIndex(rows)
    index.add(rows)
    for threshold in (0.3, 0.6):
        _check_exact(index.query(queries, threshold=threshold), queries, rows, threshold)
