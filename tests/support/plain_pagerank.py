"""The plain reference of personalised PageRank, and the random graphs that it is compared on."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


def solved(adjacency: NDArray[np.float64], seeds: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    """``p = (1 - d) s + d W' p`` as a dense system, rows without edges replaced by the seeds."""
    seeds = seeds / seeds.sum()
    sums = adjacency.sum(axis=1, keepdims=True)
    walk = np.where(sums > 0, adjacency / np.where(sums > 0, sums, 1), seeds)
    size = len(seeds)
    return np.linalg.solve(np.eye(size) - damping * walk.T, (1 - damping) * seeds)


@st.composite
def graphs(
    draw: st.DrawFn, *, is_directed: bool = True, largest: int = 7
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A dense adjacency and one weight a node, not all 0."""
    size = draw(st.integers(1, largest))
    cells = draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0]), min_size=size * size, max_size=size * size))
    seeds = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=size, max_size=size).filter(any))
    matrix = np.array(cells).reshape(size, size)
    return matrix if is_directed else np.triu(matrix) + np.triu(matrix, 1).T, np.array(seeds)
