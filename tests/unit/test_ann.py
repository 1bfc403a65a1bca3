"""The approximate index: as good as the exact search to within a little recall, exact in its scores, a mere cache."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.records import Kind
from hlgraph.stores.embedded import ann
from hlgraph.stores.embedded.ann import overwrite
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores, VectorBatch, VectorQuery

_ROWS, _WIDTH = 3_000, 24


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices from a thousand rows on."""
    monkeypatch.setattr(ann, "LEAST_ROWS", 1_000)
    monkeypatch.setattr(ann, "_LEAST_TAIL", 500)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        yield opened.stores


def _matrix(rows: int, seed: int) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).standard_normal((rows, _WIDTH)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _write(stores: Stores, matrix: NDArray[np.float32], *, first: int = 0, change: str = "one") -> None:
    names = tuple(f"{first + at:032x}" for at in range(len(matrix)))
    block = VectorBlock(Kind.STATEMENT, names, ("",) * len(names), ("",) * len(names), _WIDTH, matrix.tobytes())
    stores.vectors.upsert(VectorBatch("c", change, (), (block,)))


def _recall(stores: Stores, matrix: NDArray[np.float32]) -> float:
    found = 0
    for vector in _matrix(20, 99):
        exact = matrix @ vector
        hits = stores.vectors.search(VectorQuery(Kind.STATEMENT, "c", 10, vector))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            assert hit.score == pytest.approx(exact[int(hit.id, 16)], abs=1e-5)
        found += len({int(hit.id, 16) for hit in hits} & set(np.argsort(-exact)[:10].tolist()))
    return found / 200


@pytest.mark.usefixtures("few")
def test_the_index_is_made_used_and_followed_by_later_rows(stores: Stores, tmp_path: Path) -> None:
    matrix = _matrix(_ROWS, 1)
    _write(stores, matrix)
    assert list((tmp_path / "store" / "vectors").glob("*.usearch"))
    assert _recall(stores, matrix) >= 0.95
    tail = _matrix(200, 2)
    _write(stores, tail, first=_ROWS, change="two")
    assert _recall(stores, np.concatenate([matrix, tail])) >= 0.95
    hits = stores.vectors.search(VectorQuery(Kind.STATEMENT, "c", 1, tail[7]))
    assert int(hits[0].id, 16) == _ROWS + 7


@pytest.mark.usefixtures("few")
def test_deleted_rows_are_not_found_and_a_broken_index_is_made_anew(stores: Stores, tmp_path: Path) -> None:
    matrix = _matrix(_ROWS, 1)
    _write(stores, matrix)
    stores.vectors.delete("c", {"statement": [f"{at:032x}" for at in range(100)]})
    hits = stores.vectors.search(VectorQuery(Kind.STATEMENT, "c", 10, matrix[5]))
    assert all(int(hit.id, 16) >= 100 for hit in hits)
    assert len(hits) == 10
    for path in (tmp_path / "store" / "vectors").glob("*.usearch"):
        path.write_bytes(b"broken")
    _write(stores, _matrix(600, 3), first=_ROWS, change="two")
    assert _recall(stores, np.concatenate([np.zeros_like(matrix[:100]), matrix[100:], _matrix(600, 3)])) >= 0.95


def _held_of(folder: Path, rows: NDArray[np.float32]) -> list[int]:
    """Which of some vectors the files of the indices hold, as the index keeps them: in bfloat16."""
    files = b"".join(path.read_bytes() for path in folder.rglob("*.usearch"))
    near = ((rows.view(np.uint32) + 0x7FFF + ((rows.view(np.uint32) >> 16) & 1)) >> 16).astype(np.uint16)
    return [at for at, row in enumerate(near) if row.tobytes() in files]


@pytest.mark.usefixtures("few")
def test_the_index_holds_nothing_of_deleted_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its file nor what is saved later, by this process, another one, or one that had added the rows."""
    monkeypatch.setattr(ann, "_SAVED_SHARE", 1)
    folder, matrix, tail = tmp_path / "store", _matrix(_ROWS, 1), _matrix(600, 2)
    names = [f"{at:032x}" for at in range(_ROWS + 600)]
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        _write(opened.stores, matrix)
        assert _held_of(folder, matrix[:10]) == list(range(10))
        opened.stores.vectors.delete("c", {"statement": names[:50]})
        assert _held_of(folder, matrix[:100]) == list(range(50, 100))
        other = open_stores(f"hlgraph://{folder}")
        with other.closing:
            other.stores.vectors.delete("c", {"statement": names[50:70]})
        assert _held_of(folder, matrix[:100]) == list(range(70, 100))
        _write(opened.stores, tail, first=_ROWS, change="two")
        opened.stores.vectors.delete("c", {"statement": [*names[70:80], *names[_ROWS : _ROWS + 10]]})
    assert _held_of(folder, matrix[:100]) == list(range(80, 100))
    assert _held_of(folder, tail[:20]) == list(range(10, 20))


@pytest.mark.usefixtures("few")
def test_a_row_with_the_vector_of_a_deleted_one_stays(stores: Stores) -> None:
    """Rows of the file were found by their bytes, and threads add them anywhere: a living twin was zeroed, too."""
    matrix = _matrix(_ROWS, 1)
    matrix[1::2] = matrix[::2]
    _write(stores, matrix)
    stores.vectors.delete("c", {"statement": [f"{at:032x}" for at in range(0, _ROWS, 2)]})
    left = matrix.copy()
    left[::2] = 0
    assert _recall(stores, left) >= 0.95
    lost = [at for at in range(1, _ROWS, 2) if _found(stores, matrix[at]) != at]
    assert not lost


def _found(stores: Stores, vector: NDArray[np.float32]) -> int:
    return int(stores.vectors.search(VectorQuery(Kind.STATEMENT, "c", 1, vector))[0].id, 16)


@pytest.mark.usefixtures("few")
def test_a_row_that_was_replaced_is_wiped_at_once(stores: Stores, tmp_path: Path) -> None:
    """It stayed in both files until something was deleted."""
    matrix = _matrix(_ROWS, 1)
    _write(stores, matrix)
    _write(stores, _matrix(20, 4), change="two")
    assert _held_of(tmp_path, matrix[:30]) == list(range(20, 30))
    (path,) = tmp_path.rglob("*.f32")
    data = path.read_bytes()
    assert [at for at in range(30) if matrix[at].tobytes() in data] == list(range(20, 30))
    assert _recall(stores, np.concatenate([_matrix(20, 4), matrix[20:]])) >= 0.95


@pytest.mark.usefixtures("few")
def test_each_key_has_its_own_row_in_the_file(stores: Stores, tmp_path: Path) -> None:
    _write(stores, _matrix(_ROWS, 1))
    (path,) = tmp_path.rglob("*.usearch")
    overwrite(path, np.array([3, 1_700, _ROWS + 5]))
    index = ann._index_class().restore(str(path))
    assert index is not None
    rows = np.asarray(index.get(np.arange(_ROWS, dtype=np.uint64)))
    assert np.flatnonzero(~rows.any(axis=1)).tolist() == [3, 1_700]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("harm", ["cut", "longer", "magic", "count"])
def test_a_file_of_another_layout_is_not_written_to(stores: Stores, tmp_path: Path, harm: str) -> None:
    _write(stores, _matrix(_ROWS, 1))
    (path,) = tmp_path.rglob("*.usearch")
    data = path.read_bytes()
    at = data.index(b"usearch")
    harmed = {
        "cut": data[: at + 20],
        "longer": data + b"\0",
        "magic": data[:at] + b"research" + data[at + 8 :],
        "count": b"\x01" + data[1:],
    }[harm]
    path.write_bytes(harmed)
    with pytest.raises(ValueError, match="index"):
        overwrite(path, np.array([3]))
    assert path.read_bytes() == harmed


@pytest.mark.usefixtures("few")
def test_much_was_deleted_and_the_rest_is_found(stores: Stores) -> None:
    matrix = _matrix(_ROWS, 1)
    _write(stores, matrix)
    stores.vectors.delete("c", {"statement": [f"{at:032x}" for at in range(0, _ROWS, 3)]})
    left = matrix.copy()
    left[::3] = 0
    assert _recall(stores, left) >= 0.95


@pytest.mark.usefixtures("few")
def test_an_index_that_cannot_be_overwritten_is_deleted_and_made_anew(stores: Stores, tmp_path: Path) -> None:
    matrix = _matrix(_ROWS, 1)
    _write(stores, matrix)
    (path,) = (tmp_path / "store").rglob("*.usearch")
    held = bytearray(path.read_bytes())
    held[4:8] = b"\xff\x00\x00\x00"  # rows of another length
    path.write_bytes(bytes(held))
    stores.vectors.delete("c", {"statement": [f"{3:032x}"]})
    assert not path.exists()
    _write(stores, _matrix(10, 5), first=_ROWS, change="two")
    assert path.exists()
    assert _held_of(tmp_path, matrix[:6]) == [0, 1, 2, 4, 5]


@pytest.mark.usefixtures("few")
def test_an_index_is_loaded_once_and_saved_when_much_was_added(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading or saving it with every write made an ingest of very many rows quadratic."""
    loaded, saved = [], []
    restore, save = ann._restored, ann._save
    monkeypatch.setattr(ann, "_restored", lambda path, rows: loaded.append(len(rows)) or restore(path, rows))
    monkeypatch.setattr(ann, "_save", lambda index, path: saved.append(len(index)) or save(index, path))
    _write(stores, _matrix(_ROWS, 1))
    for part in range(8):
        _write(stores, _matrix(150, 2 + part), first=_ROWS + 150 * part, change=f"part {part}")
    assert loaded == [_ROWS]
    assert saved == [_ROWS, _ROWS + 600, _ROWS + 1_200]
    other = open_stores(f"hlgraph://{tmp_path}/store")
    with other.closing:
        _write(other.stores, _matrix(900, 20), first=_ROWS + 1_200, change="other")
    assert saved[-1] == _ROWS + 2_100
    _write(stores, _matrix(450, 21), first=_ROWS + 2_100, change="after the other")
    assert loaded == [_ROWS, _ROWS + 2_100, _ROWS + 2_550]


@pytest.mark.usefixtures("few")
def test_what_was_added_is_saved_when_the_store_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann, "_SAVED_SHARE", 1)
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        _write(opened.stores, _matrix(_ROWS, 1))
        _write(opened.stores, _matrix(600, 2), first=_ROWS, change="two")
    (path,) = (tmp_path / "store" / "vectors").glob("*.f32")
    assert ann.candidates(path, _matrix(1, 3)[0], k=5)[1] == _ROWS + 600


def test_few_rows_have_no_index(stores: Stores, tmp_path: Path) -> None:
    _write(stores, _matrix(_ROWS, 1))
    assert not list((tmp_path / "store" / "vectors").glob("*.usearch"))


_INDEX_THEN_MODEL = """
import sys
from pathlib import Path
import numpy as np
from hlgraph.stores.embedded import ann

path = Path(sys.argv[1]) / "matrix"
rows = np.eye(8, dtype=np.float32)
if sys.argv[2] == "extend":
    ann.Growing().extend(path, rows)
else:
    print(ann.candidates(path, rows[3], k=1))
import onnxruntime
print(onnxruntime.get_device())
"""


def test_an_index_may_be_used_before_a_local_model_is_loaded(tmp_path: Path) -> None:
    """Loaded in that order, usearch 2.26 and onnxruntime 1.31 end the process."""
    for step in ("extend", "search"):
        run = subprocess.run(
            [sys.executable, "-c", _INDEX_THEN_MODEL, str(tmp_path), step], capture_output=True, text=True, check=False
        )
        assert (run.returncode, run.stdout.splitlines()[-1:]) == (0, ["CPU"]), run.stderr


_INDEX_THEN_CODES = """
import sys
from pathlib import Path
import numpy as np
from hlgraph.stores.embedded import ann
from hlgraph.stores.embedded.coarse import CoarseRows

rows = np.eye(8, dtype=np.float32)
ann.Growing().extend(Path(sys.argv[1]) / "matrix", rows)
print(CoarseRows.of(8).grown(rows).candidates(rows[2], 1))
"""


def test_an_index_may_be_used_before_the_codes(tmp_path: Path) -> None:
    """Loaded in that order, usearch 2.26 made simsimd 6.5 refuse the codes: every search of some 100,000 rows failed."""
    run = subprocess.run(
        [sys.executable, "-c", _INDEX_THEN_CODES, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.splitlines()) == (0, ["[2]"]), run.stderr
