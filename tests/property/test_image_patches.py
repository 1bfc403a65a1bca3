"""However a corpus changes, the image that is patched change by change is the one that is made from nothing, and so are scores."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from image_histories import CORPUS, History, random_step, whole
from thoroughness import cases

from hlgraph.algorithms.projection import ProjectionShape
from hlgraph.records import Kind
from hlgraph.stores.embedded import images
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.image import patching, ranker
from hlgraph.stores.image.ranker import followed
from hlgraph.stores.in_process import WalkedGraph
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import RankQuery, Scope


def rankings(graph: Any) -> dict[str, dict[str, float]]:
    """The scores of every shape around the first and the last entity: exact, with synonyms, and around the seeds."""
    entities = [item.id for item in graph.find(Kind.ENTITY, Scope(CORPUS))]
    seeds = {name: 1.0 + at for at, name in enumerate(entities[:1] + entities[-1:])}
    queries = [RankQuery(shape, seeds, k=10_000, tolerance=1e-9) for shape in ProjectionShape] if seeds else []
    queries += [replace(queries[1], synonyms=0.6), replace(queries[0], epsilon=1e-7)] if seeds else []
    return {
        f"{query.shape} {query.synonyms} {query.epsilon}": {
            hit.id: hit.score for hit in graph.rank(query, scope=Scope(CORPUS))
        }
        for query in queries
    }


@pytest.mark.parametrize("seed", range(4))
def test_a_patched_image_is_one_that_is_made_from_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched, is_in_files, source = [], bool(seed % 2), random.Random(seed)
    walks: list[WalkedGraph] = []

    def patch(*args: object, real: object = images.patched, **options: object) -> object:
        patched.append(args)
        return real(*args, **options)  # type: ignore[operator]

    def follow(*args: Any, **options: Any) -> WalkedGraph | None:
        found = followed(*args, **options)
        walks.extend([found] if found else [])
        return found

    monkeypatch.setattr(images, "patched", patch)
    monkeypatch.setattr(ranker, "followed", follow)
    monkeypatch.setattr(patching, "LEAST", 0 if seed % 4 > 1 else 1 << 30)
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    steps = cases(6, 200)
    with opened.closing:
        history = History(opened.stores)
        history.start(source)
        whole(opened.stores.graph)
        rankings(opened.stores.graph)
        for _ in range(steps):
            history.take(random_step(source))
            monkeypatch.setattr(images, "LEAST_NODES", 0 if is_in_files else 1 << 30)
            found = whole(opened.stores.graph)
            scores = rankings(opened.stores.graph)
            monkeypatch.setattr(images, "LEAST_NODES", 1 << 30)
            with EmbeddedGraphStore(Database(tmp_path / "store")) as fresh:
                assert found == whole(fresh)
                wanted = rankings(fresh)
            assert scores.keys() == wanted.keys()
            for name, items in wanted.items():
                assert scores[name] == pytest.approx(items, abs=1e-6 if name.endswith("1e-07") else 3e-9), name
    assert len(patched) >= steps / 4
    assert len(walks) >= steps
