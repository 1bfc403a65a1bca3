"""Personalised PageRank against a linear system solved exactly, and by what must hold of any walk."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_pagerank import graphs, solved

from hlgraph.algorithms.ppr import personalised_pagerank
from hlgraph.errors import InputError


@given(graphs(), st.sampled_from([0.0, 0.5, 0.85, 0.99]))
def test_it_is_the_solution_of_the_linear_system(
    graph: tuple[NDArray[np.float64], NDArray[np.float64]], damping: float
) -> None:
    adjacency, seeds = graph
    found = personalised_pagerank(
        sp.csr_array(adjacency), seeds, damping=damping, tolerance=1e-13, max_iterations=10_000
    )
    assert found.has_converged
    assert found.scores == pytest.approx(solved(adjacency, seeds, damping), abs=1e-9)
    assert found.scores.sum() == pytest.approx(1.0)
    assert (found.scores >= 0).all()


def test_only_what_a_seed_can_reach_has_a_score() -> None:
    two = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2)) - np.eye(2)))
    found = personalised_pagerank(two, np.array([1.0, 0, 0, 0]))
    assert (found.scores[:2] > 0).all()
    assert not found.scores[2:].any()


def test_running_out_of_iterations_is_said() -> None:
    ring = sp.csr_array(np.roll(np.eye(9), 1, axis=1))
    found = personalised_pagerank(ring, np.eye(9)[0], damping=0.99, max_iterations=3)
    assert (found.iterations, found.has_converged) == (3, False)


@pytest.mark.parametrize(
    ("adjacency", "seeds", "options", "message"),
    [
        (np.zeros((2, 3)), np.ones(2), {}, "shape"),
        (np.zeros((2, 2)), np.ones(3), {}, "shape"),
        (-np.ones((2, 2)), np.ones(2), {}, "negative weights"),
        (np.ones((2, 2)), np.zeros(2), {}, "at least one"),
        (np.ones((2, 2)), np.array([1.0, np.nan]), {}, "seed_weights"),
        (np.ones((2, 2)), np.ones(2), {"damping": 1.0}, "damping is 1.0"),
        (np.ones((2, 2)), np.ones(2), {"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_input(
    adjacency: NDArray[np.float64], seeds: NDArray[np.float64], options: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        personalised_pagerank(sp.csr_array(adjacency), seeds, **options)  # type: ignore[arg-type]
