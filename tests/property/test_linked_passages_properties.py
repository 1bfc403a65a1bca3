"""Links between passages agree with a slow plain reference, and do not depend on what they should not depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.algorithms.linked_passages import FITTED_WEIGHTS, TOPS, Passages, link_factors, link_features
from hlgraph.errors import InputError


@st.composite
def _passages(draw: st.DrawFn) -> Passages:
    count, words = draw(st.integers(1, 12)), draw(st.integers(0, 4))
    bits = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = np.sort(bits.choice([0.25, 0.5, 0.75, 1.0], count))[::-1]
    weights = bits.choice([0.0, 1.0, 2.0], words)
    return Passages(
        scores, bits.random((count, words)) < 0.4, weights, bits.random(count) < 0.3, bits.random((count, count)) < 0.3
    )


def _plain(given: Passages) -> list[list[float]]:
    """The definition, passage by passage."""
    total = sum(given.words)

    def share(*some: int) -> float:
        has = [any(given.covers[item, word] for item in some) for word in range(len(given.words))]
        return sum(weight for weight, there in zip(given.words, has, strict=True) if there) / total if total else 0.0

    rows = []
    for item in range(len(given.scores)):
        tops = [top for top in range(min(TOPS, len(given.scores))) if top != item]
        best = [other for other in range(len(given.scores)) if other != item][:3]
        stands = {top: float(given.scores[top] / given.scores[0]) for top in tops}
        inward = [top for top in tops if given.mentions[top, item]]
        outward = [top for top in tops if given.mentions[item, top]]
        is_named = bool(given.is_named[item])
        rows.append(
            [
                float(is_named),
                share(item, *best) - share(*best),
                0.0 if is_named else max((stands[top] for top in inward), default=0.0),
                max((stands[top] * share(top, item) for top in inward), default=0.0),
                max((stands[top] for top in outward), default=0.0),
                max((stands[top] * share(top, item) for top in outward), default=0.0),
            ]
        )
    return rows


@given(passages=_passages())
def test_features_and_factors_are_what_they_are_defined_as(passages: Passages) -> None:
    expected = _plain(passages)
    assert link_features(passages) == pytest.approx(np.array(expected), abs=1e-12)
    assert ((link_features(passages) > -1e-12) & (link_features(passages) < 1 + 1e-12)).all()
    factors = [math.exp(0.5 * sum(w * f for w, f in zip(FITTED_WEIGHTS, row, strict=True))) for row in expected]
    assert link_factors(passages, strength=0.5) == pytest.approx(factors, abs=1e-6)


@given(passages=_passages(), scale=st.sampled_from([0.5, 3.0]))
def test_the_scale_of_scores_and_words_and_the_order_of_words_do_not_matter(passages: Passages, scale: float) -> None:
    other = passages._replace(
        scores=passages.scores * scale, words=passages.words[::-1] * scale, covers=passages.covers[:, ::-1]
    )
    assert link_factors(other) == pytest.approx(link_factors(passages), abs=1e-6)
    alone = passages._replace(
        is_named=np.zeros_like(passages.is_named),
        mentions=np.zeros_like(passages.mentions),
        covers=np.zeros_like(passages.covers),
    )
    assert link_factors(alone).tolist() == [1.0] * len(passages.scores)
    assert link_factors(passages, strength=0).tolist() == [1.0] * len(passages.scores)


@pytest.mark.parametrize("scores", [[], [1.0, 0.0], [0.5, 1.0]])
def test_scores_that_cannot_be_used_are_refused(scores: list[float]) -> None:
    count = len(scores)
    given = Passages(
        np.array(scores), np.ones((count, 1), bool), np.ones(1), np.zeros(count, bool), np.zeros((count, count), bool)
    )
    with pytest.raises(InputError, match="above 0 and descending"):
        link_features(given)


def test_there_is_a_weight_for_each_feature() -> None:
    given = Passages(np.ones(1), np.ones((1, 1), bool), np.ones(1), np.zeros(1, bool), np.zeros((1, 1), bool))
    with pytest.raises(InputError, match="give 6"):
        link_factors(given, (1.0,))
