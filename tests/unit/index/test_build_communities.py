"""Building and listing communities on the embedded store: parameters, levels against a plain reference, what a kill leaves."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.algorithms.communities import CommunityLevels, capped
from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.errors import InputError, StoreError, UnknownNameError
from hlgraph.index.communities import build_communities, from_levels
from hlgraph.sdk.communities import Communities
from hlgraph.stores.derived import Clustered, ClusterQuery, Run
from hlgraph.stores.in_process import ProcessClusterer, pulled
from hlgraph.stores.open import Opened, open_stores
from hlgraph.testing.corpus import CORPUS, fill

_RUN = Run("c", "made", 1, "by hand")


@pytest.fixture
def opened(opened: Opened) -> Opened:
    fill(opened.stores)
    return opened


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 0.0}, "resolution"),
        ({"resolution": float("nan")}, "resolution"),
        ({"max_size": 1}, "max_size is 1; it must be 2 or more"),
        ({"max_levels": 0}, "max_levels is 0; it must be 1 or more"),
        ({"seed": -1}, "seed is -1; it must be 0 or more"),
        ({"seed": 1 << 64}, "64 bits"),
        ({"resolution": 1e308}, "it must be 9223372036854775807 or less"),
    ],
)
def test_parameters_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClusterQuery(ProjectionShape.ENTITY_ENTITY, **options)  # type: ignore[arg-type]


def test_what_cannot_be_listed_is_told(opened: Opened) -> None:
    tier = Communities(CORPUS, opened.stores)
    with pytest.raises(UnknownNameError, match="there is no shape 'entities'; choose one of entity_passage"):
        tier.build("entities")
    with pytest.raises(InputError, match="k is -1"):
        tier.find(k=-1)
    with pytest.raises(UnknownNameError, match="no corpus 'none'"):
        Communities("none", opened.stores).find()
    opened.stores.graph.derived = None
    with pytest.raises(StoreError, match="keeps no derived data"):
        Communities(CORPUS, opened.stores).find()


def test_the_levels_of_a_hand_worked_graph() -> None:
    found = Clustered(["a", "b", "c", "d"], CommunityLevels(np.array([[0, 0, 0, 3], [0, 0, 2, 3]])))
    made = from_levels(_RUN, found)
    sizes = [(item.level, item.size) for item in made.communities]
    assert sorted(sizes) == [(0, 1), (0, 1), (0, 2), (1, 1), (1, 3)]
    by_id = {item.id: item for item in made.communities}
    for item in made.communities:
        if item.parent_id is None:
            assert item.level == 1
        else:
            assert by_id[item.parent_id].level == 1
            assert set(made.members[item.id]) <= set(made.members[item.parent_id])


@given(
    st.integers(1, 8).flatmap(
        lambda size: st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=1, max_size=3)
    )
)
def test_every_level_holds_every_node_once(levels: list[list[int]]) -> None:
    rows = capped(np.array(levels), 1)
    ids = [f"n{place}" for place in range(rows.shape[1])]
    made = from_levels(_RUN, Clustered(ids, CommunityLevels(rows)))
    for level in range(len(rows)):
        own = [made.members[item.id] for item in made.communities if item.level == level]
        assert sorted(member for some in own for member in some) == ids
    assert len({item.id for item in made.communities}) == len(made.communities)
    assert all((item.parent_id is None) == (item.level == len(rows) - 1) for item in made.communities)


def test_a_pull_of_everything_clusters_as_the_whole_graph_does(opened: Opened) -> None:
    by_pull = ProcessClusterer(pulled(opened.stores.graph))
    for shape in ProjectionShape:
        query = ClusterQuery(shape, max_size=2)
        ours, other = (item.cluster(query, corpus=CORPUS) for item in (opened.stores.graph, by_pull))
        assert ours.ids == other.ids
        assert ours.communities.levels.tolist() == other.communities.levels.tolist()


def test_a_corpus_without_edges_has_no_communities_and_no_error(tmp_path: Path) -> None:
    from hlgraph.records import Document

    found = open_stores(f"hlgraph://{tmp_path}/store")
    with found.closing:
        fill(found.stores, Document("doc:none", "Nobody was there.", "Nobody"))
        built = build_communities(CORPUS, ClusterQuery(ProjectionShape.ENTITY_ENTITY), stores=found.stores)
        assert (built.communities, built.run.levels, built.saved.added) == ((), 0, 0)
        assert build_communities(CORPUS, ClusterQuery(ProjectionShape.ENTITY_ENTITY), stores=found.stores).is_unchanged


def test_an_error_in_the_middle_leaves_the_old_run_whole(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    import hlgraph.stores.embedded.derived as module

    tier = Communities(CORPUS, opened.stores)
    tier.build(max_size=5)
    before = tier.find()
    real, calls = module._add, []

    def fail(connection: sqlite3.Connection, r: int, **more: object) -> None:
        calls.append(r)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(connection, r, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_add", fail)
    with pytest.raises(KeyboardInterrupt):
        tier.build(max_size=2)
    monkeypatch.undo()
    assert tier.find() == before
    assert all(item.is_fine for item in opened.check())
    assert not tier.build(max_size=2).is_unchanged


def test_the_doctor_sees_what_is_wrong_with_communities(opened: Opened, tmp_path: Path) -> None:
    Communities(CORPUS, opened.stores).build(max_size=2)
    assert all(item.is_fine for item in opened.check())
    with sqlite3.connect(tmp_path / "store" / "hlgraph.db") as connection:
        connection.execute("UPDATE community SET size = size + 1 WHERE m = 2")
        connection.execute("UPDATE community SET parent = m WHERE m = 1")
        connection.execute("INSERT INTO member_of VALUES (999, 1)")
        connection.execute("INSERT INTO member_of VALUES (1, 998)")
        connection.execute("INSERT INTO community (id, r, level, size) VALUES ('x', 77, 0, 0)")
    connection.close()
    wrong = {item.check for item in opened.check() if not item.is_fine}
    assert wrong == {
        "links of member_of",
        "communities without a member",
        "communities without a run",
        "members of no community",
        "sizes of communities",
        "levels of communities",
    }
