"""Variants of strategies, as ``hlgraph eval --set`` names them."""

from __future__ import annotations

import pytest

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.evaluate.sweep import Knob, base_of, knob, with_variants
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.strategies.fused import FusedRetriever
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.retrieve.strategies.statement import StatementRetriever


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=1", (1,)),
        (" a.b = 0.5 , 2 ", (0.5, 2)),
        ("a.b=true,FALSE,none", (True, False, None)),
        ("a.b=rules,chat,rules", ("rules", "chat")),
    ],
)
def test_a_value_has_the_type_that_it_is_written_in(text: str, values: tuple[object, ...]) -> None:
    found = knob(text)
    assert found == Knob("a", "b", values)
    assert [type(value) for value in found.values] == [type(value) for value in values]


@pytest.mark.parametrize("text", ["", "path", "path.x", "path=1", "path.x=", "path.x=1,,2", ".x=1"])
def test_another_form_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match=r"write it as path\.jump_points=0,50") as found:
        knob(text)
    assert repr(text) in str(found.value)


def test_every_combination_is_one_variant_after_its_strategy() -> None:
    made = {"local": LocalRetriever(), "statement": StatementRetriever()}
    found = with_variants(made, [knob("statement.candidates=5,100"), knob("statement.has_rerank=true,false")])
    assert list(found) == [
        "local",
        "statement",
        "statement[candidates=5]",
        "statement[candidates=5,has_rerank=False]",
        "statement[has_rerank=False]",
    ]
    assert found["statement[candidates=5,has_rerank=False]"] == StatementRetriever(candidates=5, has_rerank=False)
    assert [base_of(name) for name in found] == ["local", *["statement"] * 4]


def test_none_serves_where_it_is_one_of_the_types() -> None:
    found = with_variants({"local": LocalRetriever()}, [knob("local.synonyms=none,0.9")])
    assert list(found) == ["local", "local[synonyms=None]", "local[synonyms=0.9]"]
    assert getattr(found["local[synonyms=None]"], "synonyms", 0) is None


def test_a_whole_number_serves_where_a_float_is_held() -> None:
    (variant,) = (
        item
        for name, item in with_variants({"fused": FusedRetriever()}, [knob("fused.rank_constant=60")]).items()
        if name != "fused"
    )
    assert isinstance(variant, FusedRetriever)
    assert variant.rank_constant == 60.0
    assert isinstance(variant.rank_constant, float)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statement.candidates=0", "candidates is 0; it must be at least 1"),
        ("statement.candidates=1.5", "is 100, of type int; 1.5 is of another type"),
        ("statement.candidates=true", "True is of another type"),
        ("statement.has_rerank=1", "is True, of type bool; 1 is of another type"),
        ("fused.parts=path", "fused.parts holds parts, not a number or a word; set it in Python"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(text: str, message: str) -> None:
    made = {"statement": StatementRetriever(), "fused": FusedRetriever()}
    with pytest.raises(InputError, match=message):
        with_variants(made, [knob(text)])


def test_unknown_names_are_refused_with_those_that_are_there() -> None:
    made = {"statement": StatementRetriever(), "chunk": STRATEGIES["chunk"]()}
    with pytest.raises(UnknownNameError, match="the strategy 'path'; --strategies asks statement, chunk"):
        with_variants(made, [knob("path.x=1")])
    with pytest.raises(UnknownNameError, match="no parameter 'candidate'; did you mean 'candidates'"):
        with_variants(made, [knob("statement.candidate=1")])
    with pytest.raises(UnknownNameError, match="chunk has no parameter 'x'; it has mode"):
        with_variants(made, [knob("chunk.x=1")])
