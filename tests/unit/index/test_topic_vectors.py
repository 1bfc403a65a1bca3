"""Vectors of topics: between the name and the mean direction of the statements, whatever the order of the pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hlgraph.algorithms.similarity import named_centroids
from hlgraph.index.embed import PrecomputedVectors
from hlgraph.testing.embedder import WordEmbedder


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_each_group_is_its_name_and_the_mean_of_its_members(rng: np.random.Generator) -> None:
    names, members = _unit(rng.standard_normal((3, 8))), _unit(rng.standard_normal((5, 8)))
    group, member = np.array([0, 0, 2, 2, 2]), np.array([0, 4, 1, 2, 4])
    found = named_centroids(names, members, group=group, member=member, name_weight=0.25)
    for at, inside in ((0, [0, 4]), (2, [1, 2, 4])):
        mean = members[inside].astype(np.float64).mean(axis=0)
        wanted = 0.25 * names[at] + 0.75 * mean / np.linalg.norm(mean)
        np.testing.assert_allclose(found[at], wanted / np.linalg.norm(wanted), atol=1e-6)
    np.testing.assert_allclose(found[1], names[1], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert found.dtype == np.float32


def test_the_order_of_pairs_repeats_and_other_groups_change_no_bit(rng: np.random.Generator) -> None:
    names, members = _unit(rng.standard_normal((4, 16))), _unit(rng.standard_normal((300, 16)))
    group, member = np.repeat(np.arange(4), 75), np.arange(300)
    found = named_centroids(names, members, group=group, member=member)
    order = rng.permutation(300)
    twice = np.concatenate([order, order[:50]])
    assert np.array_equal(named_centroids(names, members, group=group[twice], member=member[twice]), found)
    one = named_centroids(names[2:3], members[150:225], group=np.zeros(75, dtype=np.intp), member=np.arange(75))
    assert np.array_equal(one[0], found[2])


def test_without_members_or_with_those_that_cancel_out_the_name_is_left(rng: np.random.Generator) -> None:
    names = _unit(rng.standard_normal((1, 8)))
    none = np.empty(0, dtype=np.intp)
    empty = named_centroids(names, np.empty((0, 0), dtype=np.float32), group=none, member=none)
    np.testing.assert_allclose(empty, names, atol=1e-7)
    pair = np.stack([names[0] * 0 + 1, names[0] * 0 - 1]).astype(np.float64)
    both = named_centroids(names, _unit(pair), group=np.zeros(2, dtype=np.intp), member=np.arange(2))
    np.testing.assert_allclose(both, names, atol=1e-7)


def test_vectors_made_elsewhere_and_an_embedder_for_the_rest_are_as_one_embedder() -> None:
    embedder = WordEmbedder()
    texts = ["one bridge", "two rivers", "three hills"]
    made = PrecomputedVectors(texts[:2], embedder.embed(texts[:2]), fingerprint=embedder.fingerprint)
    with pytest.raises(KeyError, match="three hills"):
        made.embed(texts)
    embedder.embedded.clear()
    wanted = ["three hills", "one bridge", "three hills", "two rivers"]
    found = made.with_rest(embedder).embed(wanted)
    assert embedder.embedded == ["three hills"]
    assert np.array_equal(found, WordEmbedder().embed(wanted))
