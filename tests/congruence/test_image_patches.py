"""The image of a live Neo4j server that is patched change by change is the one that is filled from nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from image_histories import History, random_step, whole_image
from live_stores import empty
from thoroughness import cases

from hlgraph.settings import Neo4jSettings, Settings
from hlgraph.stores.image import patching
from hlgraph.stores.neo4j import images as module
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.images import Images
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores


@pytest.mark.usefixtures("graph_server")
@pytest.mark.parametrize("seed", range(cases(1, 4)))
def test_a_patched_image_is_one_that_is_filled(
    servers: Any, neo4j_settings: Neo4jSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    filled: list[object] = []

    def fill(*args: Any, fill: Any = module.fill, **options: Any) -> None:
        filled.append(args)
        fill(*args, **options)

    monkeypatch.setattr(module, "fill", fill)
    monkeypatch.setattr(patching, "LEAST", 0 if seed % 2 else 1 << 30)
    empty(servers)
    url, source = servers.neo4j.url, random.Random(seed)
    opened = open_stores(Settings(store=url, vectors=f"hlgraph://{tmp_path}/vectors", neo4j=neo4j_settings))
    with opened.closing:
        history = History(opened.stores)
        history.start(source)
        for number in range(cases(4, 60)):
            found = whole_image(opened.stores.graph)
            by_image = [item.records for item in opened.stores.graph.stats(has_relationships=False)]
            count = len(filled)
            server = Server(url, neo4j_settings)
            made = Images(server, tmp_path / str(number), most=10_000, waits=True)
            with Neo4jGraphStore(server, images=made) as fresh:
                assert [
                    item.records for item in fresh.stats(has_relationships=False)
                ] == by_image  # it has no image yet
                assert found == whole_image(fresh)
            del filled[count:]
            history.take(random_step(source))
    assert len(filled) == 1
