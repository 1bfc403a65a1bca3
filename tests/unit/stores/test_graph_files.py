"""A large graph lies in files: the same pulls as from memory, made once and patched, and written anew when they are old."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from extractors import TINY_STEPS as _STEPS
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import Remover, delete_sources
from hlgraph.records import Document, Kind, Relationship
from hlgraph.stores.embedded import images
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.image import arrays, graph_files
from hlgraph.stores.image.arrays import Nodes
from hlgraph.stores.image.graph_files import GraphFiles
from hlgraph.stores.image.image import Image
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.subgraph import Subgraph
from hlgraph.testing.corpus import CORPUS, DOCUMENTS
from hlgraph.where import parse

_RELATIONSHIPS = (
    frozenset({Relationship.MENTIONS, Relationship.IN_CHUNK}),
    frozenset({Relationship.RELATES, Relationship.CO_OCCURS}),
    frozenset(Relationship),
)
_KINDS = frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY, Kind.TOPIC, Kind.FACT, Kind.SOURCE})


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of any size in files."""
    monkeypatch.setattr(images, "LEAST_NODES", 0)


@pytest.fixture
def stores(tiny_stores: Stores) -> Stores:
    return tiny_stores


def _versions(tmp_path: Path) -> list[str]:
    folder = tmp_path / "store" / "graph"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def _fresh(tmp_path: Path) -> EmbeddedGraphStore:
    return EmbeddedGraphStore(Database(tmp_path / "store"))


def _same(one: Subgraph, two: Subgraph) -> None:
    assert one.ids.tolist() == two.ids.tolist()
    assert one.ids.dtype == two.ids.dtype == np.dtype("<U32")
    assert one.kinds.tolist() == two.kinds.tolist()
    assert (one.is_cut, one.version) == (two.is_cut, two.version)
    assert one.edges.keys() == two.edges.keys()
    for item, matrix in one.edges.items():
        assert matrix.dtype == two.edges[item].dtype == np.float32
        assert abs(matrix - two.edges[item]).sum() == 0


def _write_late(patch: pytest.MonkeyPatch) -> list[Image]:
    """Images are written anew when their store is closed; returns those that are."""
    write, written = GraphFiles.write_image, list[Image]()

    def late(files: GraphFiles, image: Image, *, hurry: threading.Event) -> None:
        hurry.wait()
        written.append(image)
        write(files, image, hurry=hurry)

    patch.setattr(GraphFiles, "write_image", late)
    return written


def _pulls(graph: EmbeddedGraphStore) -> Iterator[Subgraph]:
    seeds = [record.id for record in graph.find(Kind.ENTITY, Scope(CORPUS))]
    scopes = (Scope(CORPUS), Scope(CORPUS, parse("category = 'person'")), Scope(CORPUS, parse("category = 'none'")))
    for relationships, scope, hops in itertools.product(_RELATIONSHIPS, scopes, (0, 1, 3)):
        for fan_out, node_cap in ((1, 100), (100, 100), (100, 7)):
            shape = PullShape(relationships, _KINDS, hops=hops, fan_out=fan_out, node_cap=node_cap)
            yield graph.pull([*seeds[::2], "nowhere", "x" * 40], shape, scope=scope)
        yield graph.whole(shape, scope=scope)


def test_pulls_from_files_are_those_from_memory(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _fresh(tmp_path) as graph:
        expected = list(_pulls(graph))
    assert _versions(tmp_path) == []  # a small graph is not written
    assert len({len(graph) for graph in expected}) > 5
    monkeypatch.setattr(images, "LEAST_NODES", 0)
    monkeypatch.setattr(arrays, "BLOCK", 5)
    monkeypatch.setattr(graph_files, "BLOCK", 5)
    for _ in range(2):  # made, then mapped
        with _fresh(tmp_path) as graph:
            for one, two in zip(expected, _pulls(graph), strict=True):
                _same(one, two)
    assert len(_versions(tmp_path)) == 1


@pytest.mark.usefixtures("in_files")
def test_what_is_there_is_not_read_from_the_database_again(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _fresh(tmp_path) as graph:
        expected = list(_pulls(graph))
    monkeypatch.setattr(images, "EDGES", dict.fromkeys(images.EDGES, "SELECT broken"))
    monkeypatch.setattr(images, "read_nodes", None)
    monkeypatch.setattr(images, "write_nodes", None)
    with _fresh(tmp_path) as graph:
        for one, two in zip(expected, _pulls(graph), strict=True):
            _same(one, two)


@pytest.mark.usefixtures("in_files")
def test_after_a_deletion_another_process_patches_the_files_and_writes_them_anew_when_they_are_old(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(_pulls(stores.graph))  # type: ignore[arg-type]
    before = _versions(tmp_path)
    entities = {record.id for record in stores.graph.find(Kind.ENTITY, Scope(CORPUS))}
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        delete_sources([source_id(CORPUS, "doc:bridge")], CORPUS, stores=opened.stores)
        gone = entities - {record.id for record in opened.stores.graph.find(Kind.ENTITY, Scope(CORPUS))}
    assert gone
    found = []
    with monkeypatch.context() as patch:
        _write_late(patch)
        patch.setattr(images, "write_nodes", None)  # nothing is filled
        patch.setattr(images, "EDGES", dict.fromkeys(images.EDGES, "SELECT broken"))
        for far in (1, 0):
            assert _versions(tmp_path) == before
            patch.setattr(images, "FAR", far)
            opened = open_stores(f"hlgraph://{tmp_path}/store")
            with opened.closing:
                found = list(_pulls(opened.stores.graph))  # type: ignore[arg-type]
    (after,) = _versions(tmp_path)
    assert [after] != before
    written = b"".join(path.read_bytes() for path in (tmp_path / "store" / "graph").rglob("*") if path.is_file())
    assert not [item for item in gone if item.encode() in written]
    monkeypatch.setattr(images, "LEAST_NODES", 1_000)
    with _fresh(tmp_path) as graph:
        for one, two in zip(_pulls(graph), found, strict=True):
            _same(one, two)


@pytest.mark.usefixtures("in_files")
def test_a_process_that_patches_for_long_writes_the_files_anew(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "FAR", 1)
    list(_pulls(stores.graph))  # type: ignore[arg-type]
    (before,) = _versions(tmp_path)
    with _fresh(tmp_path) as graph:
        for uri, thread in (("doc:bridge", False), ("doc:poet", True)):
            list(_pulls(graph))
            delete_sources([source_id(CORPUS, uri)], CORPUS, stores=stores)
            found = list(_pulls(graph))
            assert (CORPUS in graph._graphs._folding) is thread
    (after,) = _versions(tmp_path)
    assert after != before
    monkeypatch.setattr(images, "LEAST_NODES", 1_000)
    with _fresh(tmp_path) as graph:
        for one, two in zip(_pulls(graph), found, strict=True):
            _same(one, two)


@pytest.mark.usefixtures("in_files")
def test_of_two_that_patched_the_files_one_writes_them_anew(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(_pulls(stores.graph))  # type: ignore[arg-type]
    (before,) = _versions(tmp_path)
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        delete_sources([source_id(CORPUS, "doc:bridge")], CORPUS, stores=opened.stores)
    monkeypatch.setattr(images, "FAR", 0)
    written = _write_late(monkeypatch)
    with _fresh(tmp_path) as one, _fresh(tmp_path) as two:
        found = [list(_pulls(graph)) for graph in (one, two)]
        held = two._graphs._cached[CORPUS][-1]
    assert len(written) == 1
    assert held.written(threading.Event()).version == held.version  # one that comes later maps them
    assert len(written) == 1
    (after,) = _versions(tmp_path)
    assert after != before
    for first, second in zip(*found, strict=True):
        _same(first, second)


@pytest.mark.usefixtures("in_files")
def test_files_of_an_emptied_corpus_are_removed(stores: Stores, tmp_path: Path) -> None:
    list(_pulls(stores.graph))  # type: ignore[arg-type]
    assert _versions(tmp_path)
    delete_sources([source_id(CORPUS, item.uri) for item in DOCUMENTS], CORPUS, stores=stores)
    assert _versions(tmp_path) == []


@pytest.mark.usefixtures("in_files")
def test_a_deletion_makes_no_graph(stores: Stores, tmp_path: Path) -> None:
    """Its process reads what the source asserts, to forget the vectors of the names that no other one has."""
    texts: list[str] = []
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        remover = Remover(opened.stores, forget=texts.extend)
        delete_sources([source_id(CORPUS, "doc:bridge")], CORPUS, stores=opened.stores, remover=remover)
    assert "aldane bridge" in texts
    assert "mara quill" not in texts  # another source mentions her
    assert _versions(tmp_path) == []


@pytest.mark.usefixtures("in_files")
def test_what_a_killed_maker_left_is_of_no_account(stores: Stores, tmp_path: Path) -> None:
    with _fresh(tmp_path) as graph:
        expected = list(_pulls(graph))
    (folder,) = (tmp_path / "store" / "graph").iterdir()
    (folder / "mentions").rename(folder / "mentions.new")
    (folder / "mentions.loose").write_bytes(b"broken")
    (folder / "places").rename(folder / "places.new")
    with _fresh(tmp_path) as graph:
        for one, two in zip(expected, _pulls(graph), strict=True):
            _same(one, two)
    assert not [path.name for path in folder.iterdir() if path.suffix in (".new", ".loose", ".cursor")]


@pytest.mark.usefixtures("in_files")
def test_where_nothing_can_be_written_the_graph_is_in_memory(stores: Stores, tmp_path: Path) -> None:
    (tmp_path / "store" / "graph").write_text("a file where the folder should be")
    shape = PullShape(frozenset(Relationship), _KINDS, hops=3)
    seeds = [record.id for record in stores.graph.find(Kind.ENTITY, Scope(CORPUS))]
    assert len(stores.graph.pull(seeds, shape, scope=Scope(CORPUS))) > len(seeds)


@pytest.mark.usefixtures("in_files")
def test_a_change_while_the_files_are_made_is_patched_on_them(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, changed = images.write_nodes, []
    other = open_stores(f"hlgraph://{tmp_path}/store")

    def slow(*args: object, **options: object) -> None:
        write(*args, **options)  # type: ignore[arg-type]
        if not changed:
            changed.append(True)
            new = Document("doc:new", "Mara Quill was born in Tessing.", "New")
            pipeline.ingest([*DOCUMENTS, new], CORPUS, stores=other.stores, steps=_STEPS)

    monkeypatch.setattr(images, "write_nodes", slow)
    shape = PullShape(frozenset(Relationship), _KINDS, hops=3)
    # The lock is kept: letting go of it would wait for the reader, to empty the log.
    with other.closing, other.stores.graph.lock(), _fresh(tmp_path) as graph:
        before, after = (graph.whole(shape, scope=Scope(CORPUS)) for _ in range(2))
    assert changed
    assert (before.version, after.version) == (1, 2)
    _same(after, stores.graph.whole(shape, scope=Scope(CORPUS)))  # type: ignore[attr-defined]
    assert len(_versions(tmp_path)) == 1


_FILL = """
import sys
from pathlib import Path
import numpy as np
from hlgraph.stores.image.graph_files import GraphFiles

def own():
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) / 1024

size, count = 400_000, 3_000_000
rng = np.random.default_rng(0)
files = GraphFiles(Path(sys.argv[1], "graph"))
def rows():
    for at in range(0, count, 100_000):
        a = np.arange(at, at + 100_000) % size
        yield a, (a * 7 + at) % size, np.ones(100_000, dtype=np.float32)
with files.making():
    files.write_links("small", [(np.arange(3), np.arange(3), np.ones(3, dtype=np.float32))], size=10)
    before = own()
    files.write_links("large", rows(), size=size)
held = files.links("large", size)
some = held.there.of(np.arange(0, size, 1000))
assert len(some.target) == 3000, len(some.target)
print(own() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory without mapped files is known on Linux alone")
def test_mapped_links_are_not_held(tmp_path: Path) -> None:
    """Three million links both ways, 55 MB: after they were made and read, next to nothing of it is the process's own."""
    run = subprocess.run(
        [sys.executable, "-c", _FILL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"},
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 20


_PAIRS = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)


@given(_PAIRS, st.integers(1, 9), st.integers(1, 9), st.randoms(use_true_random=False))
def test_links_in_files_are_those_of_the_matrix(
    tmp_path_factory: pytest.TempPathFactory, pairs: set[tuple[int, int]], batch: int, block: int, random: object
) -> None:
    rows = sorted(pairs)
    random.shuffle(rows)  # type: ignore[attr-defined]
    table = np.array([(a, b, 1 + a + 20 * b) for a, b in rows], dtype=np.float64).reshape(-1, 3)
    parts = [table[at : at + batch] for at in range(0, len(table), batch)]
    matrix = sp.csr_array(
        (table[:, 2].astype(np.float32), (table[:, 0].astype(int), table[:, 1].astype(int))), shape=(13, 13)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_files, "BLOCK", block)
        patch.setattr(arrays, "BLOCK", block)
        files = GraphFiles(tmp_path_factory.mktemp("links"))
        with files.making():
            files.write_links(
                "made",
                ((part[:, 0].astype(int), part[:, 1].astype(int), part[:, 2].astype(np.float32)) for part in parts),
                size=13,
            )
        made = files.links("made", 13)
        assert made is not None
        for one, two in zip(made[:2], arrays.in_memory(matrix)[:2], strict=True):
            for held, expected in zip(one, two, strict=True):
                assert held.tolist() == expected.tolist()
                assert held.dtype == expected.dtype
        ids = np.array([b"%032d" % number for number in range(13)])
        nodes_of = Nodes(ids, np.zeros(13, np.uint8), np.zeros(13, np.int32))
        again = GraphFiles(tmp_path_factory.mktemp("again"))
        with again.making():
            again.write_image(Image(nodes_of, {"made": made}, version=1))
        assert (again.folder / "made").read_bytes() == (files.folder / "made").read_bytes()
        assert {path.name for path in again.folder.iterdir()} == {"ids", "kinds", "made", "making.lock", "sources"}
        for nodes in ([], [3], [0, 4, 5, 12], list(range(13))):
            at = np.array(nodes, dtype=np.int64)
            assert (made.induced(at).toarray() == matrix[at][:, at].toarray()).all()


def _plain(
    matrices: list[NDArray[np.float32]], nodes: list[int], fan_out: int, allowed: set[int]
) -> tuple[list[int], bool]:
    """The definition of the strongest neighbours, one node at a time."""
    total = sum(matrix + matrix.T for matrix in matrices)
    found: set[int] = set()
    is_cut = False
    for node in nodes:
        held = [at for at in range(len(total)) if total[node, at] > 0 and at in allowed]
        best = sorted(held, key=lambda at: (-total[node, at], at))
        found.update(best[:fan_out])
        is_cut = is_cut or len(best) > fan_out
    return sorted(found), is_cut


_ENDS = st.sets(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=150)


@given(
    _ENDS,
    _ENDS,
    st.sets(st.integers(0, 19)),
    st.sets(st.integers(0, 19)),
    st.tuples(st.integers(1, 4), st.integers(1, 2)),
)
def test_of_a_hub_only_so_much_is_read_as_is_needed(
    even: set[tuple[int, int]],
    uneven: set[tuple[int, int]],
    nodes: set[int],
    allowed: set[int],
    bounds: tuple[int, int],
) -> None:
    fan_out, window = bounds
    matrices = [np.zeros((20, 20), dtype=np.float32) for _ in range(2)]
    for a, b in even:
        matrices[0][a, b] = 1
    for a, b in uneven:
        matrices[1][a, b] = 1 + (a * b) % 3
    held = [arrays.in_memory(sp.csr_array(matrix)) for matrix in matrices]
    for count in (1, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(arrays, "_WINDOW", window)
            found, is_cut = arrays.strongest(
                [held[0]._replace(is_even=True), held[1]][:count],
                np.array(sorted(nodes), dtype=np.int64),
                fan_out=fan_out,
                may=lambda at: np.isin(at, sorted(allowed)),
            )
        assert (found.tolist(), is_cut) == _plain(matrices[:count], sorted(nodes), fan_out, allowed)
