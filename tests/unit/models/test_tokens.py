"""The estimate of tokens: what it counts, in every script, and that it never runs away."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.models.prompts import estimated_tokens, request_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Mara Quill designed the Aldane Bridge.", 7),
        ("It opened in 1931, 2,000 years ago.", 12),
        ("一座桥", 3),
        ("мост через реку", 6),
        ("façade", 3),
        ("\n\n   \n", 1),
        ("_a_", 3),
        ("-" * 9, 3),
    ],
)
def test_pieces(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_estimate_is_bounded_and_grows_with_the_text(first: str, second: str) -> None:
    both = estimated_tokens(f"{first}\n{second}")
    assert 0 <= estimated_tokens(first) <= len(first)
    assert max(estimated_tokens(first), estimated_tokens(second)) <= both + 1
    assert both <= estimated_tokens(first) + estimated_tokens(second) + 1
    assert request_tokens(first, second) == estimated_tokens(first) + estimated_tokens(second) + 8


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=40), max_size=8))
def test_json_costs_less_than_a_token_a_sign(tree: dict[str, str]) -> None:
    text = json.dumps(tree, ensure_ascii=False)
    assert estimated_tokens(text) <= len(text)
