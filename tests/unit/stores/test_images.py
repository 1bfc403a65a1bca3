"""Images of the corpora of a server: filled once a state, shared by processes, refused with a reason; and what is counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlgraph.errors import SettingsError
from hlgraph.records import Kind, Relationship
from hlgraph.settings import Neo4jSettings
from hlgraph.stores.image.image import FOLLOWED, SAID
from hlgraph.stores.neo4j import images as images_module
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.pull import EVERYTHING, Admitted
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.testing.corpus import CORPUS

_KINDS = frozenset({Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY})
_EVERYTHING = PullShape(FOLLOWED, _KINDS)


def _id(name: str) -> str:
    return name.ljust(32, "0")


# Two sources of a chunk each; a second chunk of the first repeats its statement, and mentions one of its entities there.
_PAGES: dict[str, dict[str, list[Any]]] = {
    "sources": {"ids": ["s1", "s2"], "numbers": [70, 3]},
    "chunks": {
        "ids": ["c1", "c2", "c3"],
        "numbers": [5, 6, 90],
        "from_source": [[70], [70], [3]],
        "next": [[6], [], []],
    },
    "topics": {"ids": ["t1"], "numbers": [8], "in_chunk": [[5, 6]]},
    "statements": {
        "ids": ["p1", "p2"],
        "numbers": [10, 11],
        "in_chunk": [[5, 6], [90]],
        "about": [[8], []],
        "mentions": [[20, 21], [20, 22, 999]],
        "said": [[[20, "c1"], [21, "c1"], [20, "c2"], [999, "c2"], [22, "c9"]], []],
    },
    "facts": {"ids": ["f1"], "numbers": [30], "supports": [[10, 11]]},
    "entities": {
        "ids": ["e1", "e2", "e3"],
        "numbers": [20, 21, 22],
        "subject": [[30], [], []],
        "object": [[], [], [30]],
        "synonym": [[[21, 0.875]], [], []],
        "same_as": [[], [], []],
    },
}


@dataclass
class ToldServer:
    """Answers the queries of an image, and notes their names."""

    version: int = 1
    stamp: str | None = "first"
    links: int = 20
    names: list[str] = field(default_factory=list)
    on_scan: Callable[[], None] = lambda: None
    url: str = "neo4j://told"
    settings: Neo4jSettings = field(default_factory=Neo4jSettings)

    def ask(self, name: str, /, **params: object) -> list[dict[str, object]]:
        self.names.append(name)
        if name == "retrieve/read_state":
            return [{"version": self.version, "stamp": self.stamp}] if params["corpus"] == "c" else []
        if name == "admin/count_relationships":
            return [{"relationship": "mentions", "number": self.links}]
        if name == "retrieve/read_image_changes":
            return []
        self.on_scan()
        page = _PAGES[name.removeprefix("retrieve/scan_")]
        named: dict[str, list[Any]] = {"ids": [_id(item) for item in page["ids"]]}
        if "said" in page:
            named["said"] = [[[entity, _id(chunk)] for entity, chunk in each] for each in page["said"]]
        return [{**page, **named}]

    def scans(self) -> int:
        return sum("scan" in name for name in self.names)


@pytest.fixture
def server() -> ToldServer:
    return ToldServer()


def _images(server: ToldServer, folder: Path, **options: Any) -> Images:
    return Images(server, folder / "images", **{"most": 100, **options})  # type: ignore[arg-type]


def _edges(found: Any, relationship: Relationship) -> set[tuple[str, str, float]]:
    matrix = found.edges[relationship].tocoo()
    names = [name.rstrip("0") for name in found.ids.tolist()]
    return {
        (names[a], names[b], float(weight)) for a, b, weight in zip(matrix.row, matrix.col, matrix.data, strict=True)
    }


def test_image_holds_the_scanned_links_and_derives_the_rest(server: ToldServer, tmp_path: Path) -> None:
    held = _images(server, tmp_path).current("c")
    assert held is not None
    found = held.image.whole(_EVERYTHING, sources=held.sources(EVERYTHING))
    assert [name.rstrip("0") for name in found.ids.tolist()] == sorted(
        name for page in _PAGES.values() for name in page["ids"]
    )
    assert _edges(found, Relationship.MENTIONS) == {("p1", "e1", 1), ("p1", "e2", 1), ("p2", "e1", 1), ("p2", "e3", 1)}
    assert _edges(found, Relationship.SYNONYM) == {("e1", "e2", 0.875)}
    assert _edges(found, Relationship.RELATES) == {("e1", "e3", 2)}
    assert _edges(found, Relationship.CO_OCCURS) == {("e1", "e2", 1), ("e1", "e3", 1)}
    assert _edges(found, Relationship.NEXT) == {("c1", "c2", 1)}
    assert server.scans() == 6
    for listed, admits in ((_id("s2"), True), (_id("s1"), False)):
        seen = held.image.whole(_EVERYTHING, sources=held.sources(Admitted(True, (listed,), admits)))
        assert [name.rstrip("0") for name in seen.ids.tolist()] == ["c3", "e1", "e3", "f1", "p2", "s2"]
        assert _edges(seen, Relationship.RELATES) == {("e1", "e3", 1)}
        assert _edges(seen, Relationship.CO_OCCURS) == {("e1", "e3", 1)}


def test_image_files_are_shared_and_readable_by_their_owner_only(server: ToldServer, tmp_path: Path) -> None:
    assert _images(server, tmp_path).current("c")
    other = ToldServer()
    images = _images(other, tmp_path)
    assert images.current("c") is images.current("c") is not None
    assert other.scans() == 0
    assert images.why_not("c") == ""
    for path in (tmp_path / "images").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    images.forget("c")
    assert not [path for path in (tmp_path / "images").rglob("*") if path.name == "ids"]


@pytest.mark.parametrize("change", [{"version": 2, "stamp": "second"}, {"stamp": "of another database"}])
def test_each_state_gets_its_own_image(server: ToldServer, tmp_path: Path, change: dict[str, Any]) -> None:
    images = _images(server, tmp_path)
    first = images.current("c")
    for name, value in change.items():
        setattr(server, name, value)
    second = images.current("c")
    assert first is not None
    assert second is not None
    assert second.state != first.state
    assert server.scans() == 12
    assert len(list((tmp_path / "images").rglob("ids"))) == 1  # the old one is gone
    assert len(first.image.whole(_EVERYTHING, sources=None)) == 12  # and those who read it may go on


def test_change_during_a_fill_discards_the_image(server: ToldServer, tmp_path: Path) -> None:
    def change() -> None:
        if server.stamp == "first":
            server.version, server.stamp = 2, "second"

    server.on_scan = change
    images = _images(server, tmp_path)
    assert images.current("c") is None
    assert images.why_not("c") == "the corpus was changed while its image was filled"
    held = images.current("c")
    assert held is not None
    assert held.image.version == 2
    assert images.why_not("c") == ""


def test_frequent_changes_limit_the_fills(server: ToldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images_module, "_SHORT", 0.0)
    images, patient = _images(server, tmp_path), _images(server, tmp_path / "patient", waits=True)
    assert images.current("c")
    assert patient.current("c")
    server.version, server.stamp = 2, "second"
    assert images.current("c") is None
    assert images.why_not("c") == "the corpus changed soon after its last image was filled"
    assert patient.current("c")
    monkeypatch.setattr(images_module, "_REST", 0.0)
    images._rest.clear()
    assert images.current("c")


@pytest.mark.parametrize(
    ("told", "why"),
    [({"stamp": None}, "before its next change"), ({"links": 101}, "over 100 links (neo4j.image_links)")],
)
def test_missing_image_has_a_reason(tmp_path: Path, told: dict[str, Any], why: str) -> None:
    server = ToldServer(**told)
    images = _images(server, tmp_path)
    for _ in range(2):
        assert images.current("c") is None
        assert why in images.why_not("c")
    assert server.names.count("admin/count_relationships") <= 1
    assert images.current("nowhere") is None
    assert images.why_not("nowhere") == ""


def test_unwritable_folder_falls_back_to_the_server(server: ToldServer, tmp_path: Path) -> None:
    (tmp_path / "images").write_text("a file where the folder should be")
    images = _images(server, tmp_path)
    assert images.current("c") is None
    assert "could not be written" in images.why_not("c")


def test_large_image_is_filled_in_the_background(
    server: ToldServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images_module, "LEAST_BEHIND", 10)
    may_go_on = threading.Event()
    server.on_scan = lambda: may_go_on.wait(10) or None  # type: ignore[assignment]
    images = _images(server, tmp_path)
    assert images.current("c") is None
    assert images.why_not("c") == "the image of the corpus is being filled"
    may_go_on.set()
    images._threads["c"].join()
    assert images.current("c") is not None
    assert images.why_not("c") == ""
    assert _images(ToldServer(stamp="x"), tmp_path, waits=True).current("c") is not None
    closed = _images(ToldServer(stamp="y"), tmp_path)
    closed.close()
    assert closed.current("c") is None


@pytest.fixture
def filled(tiny_stores: Stores) -> Any:
    return tiny_stores.graph


def test_derived_links_from_arrays_equal_those_from_tables(filled: Any) -> None:
    sources = tuple(record.id for record in filled.find(Kind.SOURCE, Scope(CORPUS)))
    shape = PullShape(frozenset({Relationship.RELATES, Relationship.CO_OCCURS}), _KINDS)
    stored = filled.whole(shape, scope=Scope(CORPUS))
    counted = filled.whole(shape, scope=Scope(CORPUS, None, sources))
    for relationship, matrix in stored.edges.items():
        assert matrix.nnz
        one, two = ((some + some.T).toarray() for some in (matrix, counted.edges[relationship]))
        assert np.array_equal(one, two)
    assert SAID not in {item.value for item in Relationship}


@pytest.mark.parametrize(("name", "value"), [("ranking", "fast"), ("image_links", -1)])
def test_out_of_range_setting_is_refused(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"neo4j.{name} is .{value}|neo4j.{name} is {value}"):
        Neo4jSettings(**{name: value})
