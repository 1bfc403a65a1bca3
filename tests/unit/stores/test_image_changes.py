"""Lists of changes: an image is patched only along an unbroken chain, readers keep their version, and a kill leaves files whole."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from image_histories import CORPUS, History, whole
from thoroughness import cases

from hlgraph.records import Kind, Relationship
from hlgraph.stores.embedded import images
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.image import patching
from hlgraph.stores.image.arrays import Numbering
from hlgraph.stores.protocols import PullShape, Scope, Stores

_EDIT = ("edit", (0, 3, "Lake Vessel met Ivo Brandt in 1802."))


@pytest.fixture
def history(stores: Stores) -> History:
    found = History(stores)
    found.start(random.Random(0))
    return found


@pytest.fixture
def fills(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An entry for each fill."""
    found: list[str] = []
    real = images.read_nodes

    def read(*args: object) -> object:
        found.append("filled")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(images, "read_nodes", read)
    return found


def _fresh(tmp_path: Path) -> dict[str, object]:
    with EmbeddedGraphStore(Database(tmp_path / "store")) as graph:
        return whole(graph)


def _run(tmp_path: Path, statement: str) -> None:
    with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db", isolation_level=None)) as connection:
        connection.execute(statement)


def test_an_edit_is_patched_and_fills_nothing(
    stores: Stores, history: History, tmp_path: Path, fills: list[str]
) -> None:
    whole(stores.graph)
    history.take(_EDIT)
    found = whole(stores.graph)
    assert fills == ["filled"]
    assert found == _fresh(tmp_path)


@pytest.mark.parametrize(
    "broken",
    [
        "DELETE FROM image_change WHERE version = (SELECT max(version) FROM image_change)",
        "UPDATE image_change SET before = 'of another database' WHERE version = (SELECT max(version) FROM image_change)",
        "UPDATE image_change SET list = x'' WHERE version = (SELECT max(version) FROM image_change)",
    ],
)
def test_where_the_chain_is_broken_the_image_is_filled_anew(
    stores: Stores, history: History, tmp_path: Path, fills: list[str], *, broken: str
) -> None:
    whole(stores.graph)
    history.take(_EDIT)
    _run(tmp_path, broken)
    assert whole(stores.graph) == _fresh(tmp_path)
    assert len(fills) == 3


def test_a_store_that_was_made_again_gets_no_image_of_the_old_one(
    stores: Stores, history: History, tmp_path: Path, fills: list[str]
) -> None:
    whole(stores.graph)
    _run(tmp_path, "UPDATE corpus SET stamp = 'restored'")
    history.take(_EDIT)
    assert whole(stores.graph) == _fresh(tmp_path)
    assert len(fills) == 3


def test_a_large_change_has_no_list(
    stores: Stores, history: History, tmp_path: Path, fills: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole(stores.graph)
    monkeypatch.setattr(patching, "MOST", 0)
    history.take(_EDIT)
    assert whole(stores.graph) == _fresh(tmp_path)
    assert len(fills) == 3


def test_lists_of_the_last_versions_alone_are_kept(
    stores: Stores, history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hlgraph.stores.embedded import image_changes

    monkeypatch.setattr(image_changes, "KEPT", 2)
    for number in range(4):
        history.take(("edit", (0, number, f"Lake Vessel met Ivo Brandt in 180{number}.")))
    with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db")) as connection:
        versions = [row[0] for row in connection.execute("SELECT version FROM image_change ORDER BY version")]
        (present,) = connection.execute("SELECT version FROM corpus").fetchone()
    assert versions == [present - 1, present]


def test_a_list_holds_ids_and_no_text(stores: Stores, history: History, tmp_path: Path) -> None:
    history.take(_EDIT)
    with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db")) as connection:
        (data,) = connection.execute("SELECT list FROM image_change ORDER BY version DESC").fetchone()
    found = patching.unpack(data)
    assert len(data) < 2_000
    assert {len(name) for name in np.frombuffer(found.ids, dtype="S32").tolist()} == {32}
    assert b"Vessel" not in patching.msgspec.msgpack.encode(found)
    assert stores


def test_readers_keep_their_version_and_see_no_half_of_a_change(
    stores: Stores, history: History, tmp_path: Path
) -> None:
    """Each result that a reader gets during the changes is that of one version, made from nothing."""
    shape = PullShape(frozenset(Relationship), frozenset(Kind))
    held, _ = stores.graph._image(shape, Scope(CORPUS))  # type: ignore[attr-defined]
    before = held.whole(shape, sources=None)
    seen: list[dict[str, object]] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            seen.append(whole(stores.graph, is_consistent=False))

    threads = [threading.Thread(target=read) for _ in range(2)]
    known: dict[object, dict[str, object]] = {}
    for thread in threads:
        thread.start()
    source = random.Random(1)
    for number in range(cases(3, 6)):
        history.take(("edit", (source.randrange(4), number, f"Tessing met Orne in 180{number}.")))
        made = _fresh(tmp_path)
        known[made["all: version"]] = made
    is_done.set()
    for thread in threads:
        thread.join()
    compared = 0
    for found in seen:
        made = known.get(found["all: version"], {})
        compared += bool(made)
        assert not made or all(made[name] == found[name] for name in found if name.startswith("all: "))
    assert compared
    after = held.whole(shape, sources=None)
    assert after.ids.tolist() == before.ids.tolist()
    for name, matrix in before.edges.items():
        assert abs(matrix - after.edges[name]).sum() == 0


_KILLED = """
import os, random, signal, sys
from hlgraph.stores.embedded import images
from hlgraph.stores.image import graph_files, patching
from hlgraph.stores.open import open_stores
from image_histories import History, whole
opened = open_stores(f"hlgraph://{sys.argv[1]}/store")
history = History(opened.stores)
history.start(random.Random(0))
images.LEAST_NODES, patching.LEAST = 0, 0
whole(opened.stores.graph)
real, count = graph_files._copy, [0]
def write(*args, **options):
    count[0] += 1
    if count[0] > 11:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args, **options)
graph_files._copy = write
patching.SHARE = 0
history.take(("edit", (0, 3, "Lake Vessel met Ivo Brandt in 1802.")))
whole(opened.stores.graph)
opened.stores.graph._graphs.close()
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_a_kill_while_a_patched_image_is_written_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _KILLED, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=paths)
    assert run.returncode == -signal.SIGKILL, run.stderr
    folders = sorted(path.name.split("-")[2] for path in (tmp_path / "store" / "graph").iterdir())
    assert folders == ["1", "2"]
    monkeypatch.setattr(images, "LEAST_NODES", 0)
    monkeypatch.setattr(images, "write_nodes", None)  # nothing is filled
    patched = _fresh(tmp_path)
    monkeypatch.undo()
    assert patched == _fresh(tmp_path)


def test_places_and_numbers_are_each_others_inverse() -> None:
    """The definition, on all small cases: what remains of the old nodes and what is new, in the order of the ids."""
    source = random.Random(0)
    for _ in range(200):
        base = source.randrange(8)
        removed = sorted(number for number in range(base) if source.random() < 0.4)
        before = sorted(source.randint(0, base) for _ in range(source.randrange(5)))
        fresh = source.sample(range(base, base + 2 * len(before)), len(before))
        order = [(number, 1, number) for number in range(base) if number not in removed]
        order += [(at, 0, number) for at, number in sorted(zip(before, fresh, strict=True), key=lambda pair: pair[0])]
        expected = [number for _, _, number in sorted(order, key=lambda item: item[:2])]
        found = Numbering(
            base,
            **{
                name: np.array(value, dtype=np.int64)
                for name, value in (("removed", removed), ("fresh", fresh), ("before", before))
            },
        )
        assert found.numbers(np.arange(found.size)).tolist() == expected
        assert found.places(np.array(expected, dtype=np.int64)).tolist() == list(range(len(expected)))
        every = np.arange(base + 10)
        assert every[found.has(every)].tolist() == sorted(expected)
