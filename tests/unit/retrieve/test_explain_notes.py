"""What a retrieval notes down: bounded, in order, by part."""

from __future__ import annotations

import pytest

from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind
from hlgraph.retrieve.explain.parts import MOST_PATHS, MOST_SEEDS, Hop, Notes


def test_many_seeds_are_cut_and_counted() -> None:
    notes = Notes()
    notes.add_seeds(Kind.ENTITY, [Hit(f"e{at}", 1 / (at + 1)) for at in range(MOST_SEEDS + 5)], origin="keywords")
    (seeds,) = notes.seeds
    assert (len(seeds.hits), seeds.count, seeds.origin) == (MOST_SEEDS, MOST_SEEDS + 5, "keywords")


def test_seeds_of_the_same_origin_replace_each_other_and_others_stand_beside() -> None:
    notes = Notes()
    notes.add_seeds(Kind.CHUNK, [Hit("a", 1.0)], origin="vector")
    notes.add_seeds(Kind.CHUNK, [Hit("a", 1.0), Hit("b", 0.5)], origin="vector")
    notes.add_seeds(Kind.CHUNK, [Hit("c", 1.0)], origin="keywords")
    with notes.named("path"):
        notes.add_seeds(Kind.CHUNK, [Hit("d", 1.0)], origin="vector")
    assert [(item.origin, item.part, item.count) for item in notes.seeds] == [
        ("vector", "", 2),
        ("keywords", "", 1),
        ("vector", "path", 1),
    ]


def test_the_best_paths_of_each_part_are_kept_ties_by_ids() -> None:
    notes = Notes()
    for at in range(MOST_PATHS + 3):
        notes.add_path([f"s{at:03}"], at // 2, kinds=[Kind.STATEMENT])
    with notes.named("other"):
        notes.add_path(["t", "s000"], 0.1, kinds=[Kind.TOPIC, Kind.STATEMENT])
    mine = [path for path in notes.paths if not path.part]
    assert len(mine) == MOST_PATHS
    assert [path.ids[0] for path in mine[:4]] == ["s102", "s100", "s101", "s098"]
    assert notes.paths[-1].kinds == (Kind.TOPIC, Kind.STATEMENT)


def test_a_path_that_is_noted_again_has_its_new_score() -> None:
    notes = Notes()
    notes.add_path(["a", "b"], 1.0, kinds=[Kind.STATEMENT] * 2)
    notes.add_path(["a", "b"], 2.0, kinds=[Kind.STATEMENT] * 2)
    assert [path.score for path in notes.paths] == [2.0]


def test_a_path_needs_a_kind_a_node() -> None:
    with pytest.raises(InputError, match="a path of 2 nodes has 1 kinds"):
        Notes().add_path(["a", "b"], 1.0, kinds=[Kind.STATEMENT])


def test_clearing_forgets_everything_but_the_part() -> None:
    notes = Notes()
    with notes.named("path"):
        notes.add_seeds(Kind.CHUNK, [Hit("a", 1.0)], origin="vector")
        notes.add_path(["a"], 1.0, kinds=[Kind.CHUNK])
        notes.clear()
        assert (notes.seeds, notes.hops, notes.paths, notes.part) == ([], [], [], "path")


def test_negative_depth_means_one_below_the_last_hop() -> None:
    notes = Notes()
    notes.add_hop(Hop(-1, 1, 1))
    notes.add_hop(Hop(3, 1, 1))
    notes.add_hop(Hop(-1, 1, 1))
    with notes.named("path"):
        notes.add_hop(Hop(-1, 1, 1))
    assert [(hop.depth, part) for hop, part in notes.hops] == [(1, ""), (3, ""), (4, ""), (1, "path")]
