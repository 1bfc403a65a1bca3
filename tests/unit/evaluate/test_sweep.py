"""Variants of strategies, as ``hlgraph eval --set`` names them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from hlgraph.algorithms.diameter import Distance
from hlgraph.algorithms.query_walk import QueryWalk
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.evaluate.sweep import Knob, base_of, knob, with_variants
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
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
    made = {"statement": StatementRetriever(), "diameter": DiameterRetriever()}
    found = with_variants(made, [knob("diameter.chunks=0,50"), knob("diameter.has_co_occurrence=true,false")])
    assert list(found) == [
        "statement",
        "diameter",
        "diameter[chunks=0]",
        "diameter[chunks=0,has_co_occurrence=False]",
        "diameter[has_co_occurrence=False]",
    ]
    assert found["diameter[chunks=0,has_co_occurrence=False]"] == DiameterRetriever(chunks=0, has_co_occurrence=False)
    assert [base_of(name) for name in found] == ["statement", *["diameter"] * 4]


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
        ("global.splitter=names", "global.splitter holds parts, not a number or a word; set it in Python"),
        ("diameter.splitter=halves", "diameter.splitter is 'whole'; 'halves' is none of its values: whole, names"),
        ("diameter.distance=none", "diameter.distance is 'induced'; 'none' is none of its values: induced, graph"),
        ("path.stages=both,neither", "path.stages is 'both'; 'neither' is none of its values: both, first, second"),
        ("path.damping=nan", "damping is nan; it must be from 0 to below 1"),
        (
            "local.walk=1",
            "local.walk holds parts, not a number or a word; set one of them: local.walk.structure_weight, ",
        ),
        ("local.walk.damping=2", r"local\[walk.damping=2.0\]: damping is 2.0"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(text: str, message: str) -> None:
    made = {name: STRATEGIES[name]() for name in ("statement", "fused", "global", "diameter", "path", "local")}
    with pytest.raises(InputError, match=message):
        with_variants(made, [knob(text)])


def test_a_parameter_of_a_part_is_named_with_dots() -> None:
    knobs = [knob("local.walk.structure_weight=1"), knob("local.walk.damping=0.5"), knob("local.cycles=1")]
    (_, variant) = with_variants({"local": LocalRetriever()}, knobs).values()
    assert variant == LocalRetriever(cycles=1, walk=QueryWalk(structure_weight=1.0, damping=0.5))
    with pytest.raises(UnknownNameError, match=r"local\.walk has no parameter 'dampin'; did you mean 'damping'"):
        with_variants({"local": LocalRetriever()}, [knob("local.walk.dampin=1")])
    with pytest.raises(UnknownNameError, match=r"local\.cycles is 3, which has no parameter 'x'"):
        with_variants({"local": LocalRetriever()}, [knob("local.cycles.x=1")])


def test_values_that_exclude_each_other_are_refused_with_the_name_of_the_variant() -> None:
    knobs = [knob("path.beam_width=0,4"), knob("path.jump_points=0,50")]
    with pytest.raises(
        InputError, match=r"^path\[beam_width=0,jump_points=50\]: jump_points is 50, but beam_width is 0"
    ):
        with_variants({"path": STRATEGIES["path"]()}, knobs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("path.words=none", {"words": "none"}),
        ("path.stages=first", {"stages": "first"}),
        ("path.rescored=0,40", {"rescored": 40}),
        ("diameter.splitter=whole", {"splitter": "whole"}),
        ("diameter.by=chat", {"by": "chat"}),
        ("diameter.distance=graph", {"distance": Distance.GRAPH}),
        ("diameter.search=post_filter", {"search": "post_filter"}),
        ("diameter.centers=0", {"centers": 0}),
        ("diameter.starts=5", {"starts": 5}),
        ("diameter.max_diameter=3", {"max_diameter": 3}),
        ("diameter.has_co_occurrence=false", {"has_co_occurrence": False}),
    ],
)
def test_what_the_ablations_of_the_papers_need_can_be_asked_for(text: str, expected: dict[str, Any]) -> None:
    base = retriever(text.partition(".")[0], "tuned")
    (variant,) = (item for item in with_variants({text.partition(".")[0]: base}, [knob(text)]).values() if item != base)
    assert variant == replace(base, **expected)  # type: ignore[type-var]
    ((name, value),) = expected.items()
    assert type(getattr(variant, name)) is type(value)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_parameter_takes_its_own_value(name: str) -> None:
    """So the types of all parameters can be read."""
    base = STRATEGIES[name]()
    for item in fields(base):
        held = getattr(base, item.name)
        if held is None or isinstance(held, bool | int | float | str):
            assert list(with_variants({name: base}, [knob(f"{name}.{item.name}={str(held).lower()}")])) == [name]


def test_unknown_names_are_refused_with_those_that_are_there() -> None:
    made = {"statement": StatementRetriever(), "chunk": STRATEGIES["chunk"]()}
    with pytest.raises(UnknownNameError, match="the strategy 'path'; --strategies asks statement, chunk"):
        with_variants(made, [knob("path.x=1")])
    with pytest.raises(UnknownNameError, match="no parameter 'candidate'; did you mean 'candidates'"):
        with_variants(made, [knob("statement.candidate=1")])
    with pytest.raises(UnknownNameError, match="chunk has no parameter 'x'; it has mode"):
        with_variants(made, [knob("chunk.x=1")])
