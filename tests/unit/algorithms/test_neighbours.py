"""The graph of what is alike, against all pairs one by one; and what cells of close rows find of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.algorithms.distances import similarity_graph
from hlgraph.errors import InputError


def plain(rows: NDArray[np.float32], k: int, threshold: float, only: set[int]) -> dict[tuple[int, int], float]:
    """Algorithm 1 of GraphMPA, row by row: the k highest at or above the threshold, equal ones by the lower row."""
    found: dict[tuple[int, int], float] = {}
    for row in sorted(only):
        cosines = [(float(np.float32(rows[row] @ rows[other])), other) for other in range(len(rows)) if other != row]
        for cosine, other in sorted(cosines, key=lambda item: (-item[0], item[1]))[:k]:
            if cosine >= threshold:
                found[row, other] = found[other, row] = cosine
    return found


# Whole numbers: their products are exact, so that equal cosines are equal in any order of sums.
_ROWS = st.integers(1, 12).flatmap(
    lambda count: st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=count, max_size=count)
)


@given(_ROWS, st.integers(1, 5), st.sampled_from([0.5, 1.0, 2.0]), st.data())
def test_matches_brute_force_over_all_pairs(
    rows: list[list[int]], k: int, threshold: float, data: st.DataObject
) -> None:
    matrix = np.array(rows, dtype=np.float32)
    only = data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1))
    graph = similarity_graph(matrix, k=k, threshold=threshold, only=np.array(sorted(only)))
    edges = graph.tocoo()
    found = {(int(a), int(b)): float(w) for a, b, w in zip(edges.row, edges.col, edges.data, strict=True)}
    assert found == plain(matrix, k, threshold, only)
    assert abs(graph - graph.T).nnz == 0


def groups(count: int, size: int, *, seed: int) -> NDArray[np.float32]:
    """Unit rows around random directions."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((count, 48))
    rows = np.repeat(centres, size, axis=0) + 0.6 * rng.standard_normal((count * size, 48))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_cells_find_nearly_all_of_the_nearest_and_nothing_else() -> None:
    rows = groups(60, 25, seed=4)
    exact = similarity_graph(rows)
    found = similarity_graph(rows, exact=100, rng=np.random.default_rng(1))
    assert found.nnz > 0.95 * exact.nnz
    edges = found.tocoo()
    assert np.allclose(edges.data, np.einsum("ij,ij->i", rows[edges.row], rows[edges.col]), atol=1e-5)
    again = similarity_graph(rows, exact=100, rng=np.random.default_rng(1))
    assert abs(found - again).nnz == 0
    some = np.arange(0, len(rows), 50)
    part = similarity_graph(rows, exact=100, rng=np.random.default_rng(1), only=some).tocoo()
    assert all(
        a in set(some.tolist()) or b in set(some.tolist())
        for a, b in zip(part.row.tolist(), part.col.tolist(), strict=True)
    )


def test_few_rows_and_none() -> None:
    assert similarity_graph(np.empty((0, 4), dtype=np.float32)).shape == (0, 0)
    assert similarity_graph(np.ones((1, 1), dtype=np.float32)).nnz == 0


@pytest.mark.parametrize("options", [{"k": 0}, {"threshold": -0.1}, {"threshold": float("nan")}])
def test_bad_input(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        similarity_graph(np.eye(2, dtype=np.float32), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pass rng"):
        similarity_graph(np.eye(9, dtype=np.float32), exact=8)
