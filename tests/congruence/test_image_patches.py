"""The image of a live Neo4j server that is patched change by change is the one that is filled from nothing."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_histories import CORPUS, History, random_step, whole
from live_stores import empty
from thoroughness import cases

from hlgraph.ids import source_id
from hlgraph.ingest.delete import delete_sources
from hlgraph.settings import Neo4jSettings, Settings
from hlgraph.stores.image import patching
from hlgraph.stores.neo4j import images as module
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, Scope
from hlgraph.subgraph import KINDS, Subgraph


def whole_image(graph: Any) -> dict[str, object]:
    """:func:`whole` on the image of a server, which must be there."""

    def read(shape: PullShape, *, scope: Scope) -> Subgraph:
        image = graph.image(scope)
        assert image is not None, graph.walked_by(scope)
        return image.whole(shape)  # type: ignore[no-any-return]

    return whole(graph, read)


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """An entry for each image that is filled from the server."""
    found: list[object] = []

    def fill(*args: Any, fill: Any = module.fill, **options: Any) -> None:
        found.append(args)
        fill(*args, **options)

    monkeypatch.setattr(module, "fill", fill)
    return found


@pytest.fixture
def settings(servers: Any, neo4j_settings: Neo4jSettings, tmp_path: Path) -> Settings:
    """Those of an emptied server, with images in a folder of the test."""
    empty(servers)
    ours = replace(neo4j_settings, images=str(tmp_path / "images"))
    return Settings(store=servers.neo4j.url, vectors=f"hlgraph://{tmp_path}/vectors", neo4j=ours)


@pytest.mark.usefixtures("graph_server")
@pytest.mark.parametrize("seed", range(cases(1, 4)))
def test_a_patched_image_is_one_that_is_filled(
    settings: Settings, tmp_path: Path, filled: list[object], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(patching, "LEAST", 0 if seed % 2 else 1 << 30)
    source = random.Random(seed)
    opened = open_stores(settings)
    with opened.closing:
        history = History(opened.stores)
        history.start(source)
        for number in range(cases(4, 60)):
            found = whole_image(opened.stores.graph)
            by_image = [item.records for item in opened.stores.graph.stats(has_relationships=False)]
            count = len(filled)
            server = Server(settings.store, settings.neo4j)
            made = Images(server, tmp_path / str(number), most=10_000, waits=True)
            with Neo4jGraphStore(server, images=made) as fresh:
                assert [
                    item.records for item in fresh.stats(has_relationships=False)
                ] == by_image  # it has no image yet
                assert found == whole_image(fresh)
            del filled[count:]
            history.take(random_step(source))
    assert len(filled) == 1


@pytest.mark.usefixtures("graph_server")
def test_the_image_outlives_a_deletion_by_another_process(
    settings: Settings, tmp_path: Path, filled: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ids() -> set[str]:
        return {
            name.decode()
            for path in (tmp_path / "images").rglob("ids")
            for name in np.fromfile(path, dtype="S32").tolist()
        }

    opened = open_stores(settings)
    with opened.closing:
        History(opened.stores).start(random.Random(0))
        whole_image(opened.stores.graph)
    before = ids()
    opened = open_stores(settings)
    with opened.closing:
        delete_sources([source_id(CORPUS, "doc:0")], CORPUS, stores=opened.stores)
    for far in (1, 0):
        assert ids() == before
        monkeypatch.setattr(module, "FAR", far)
        opened = open_stores(settings)
        with opened.closing:
            found = whole_image(opened.stores.graph)
            gone = before - {record.id for kind in KINDS for record in opened.stores.graph.find(kind, Scope(CORPUS))}
    assert len(filled) == 1
    assert source_id(CORPUS, "doc:0") in gone
    assert ids() == before - gone
    opened = open_stores(settings)
    with opened.closing:
        assert whole_image(opened.stores.graph) == found
        delete_sources([source_id(CORPUS, f"doc:{number}") for number in range(4)], CORPUS, stores=opened.stores)
    assert ids() == set()
    with contextlib.closing(Server(settings.store, settings.neo4j)) as server:
        kept = server.ask("retrieve/read_image_changes", corpus=CORPUS, after=0)
    assert [row["list"] for row in kept] == [None]
