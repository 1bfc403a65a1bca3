"""The cache of vectors: what it gives, what it keeps, and what it survives."""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.models.cache import CachedEmbedder
from hlgraph.testing.embedder import WordEmbedder

SIZE = 16


class HashEmbedder:
    """A unit vector drawn from the hash of the text; remembers what it was asked."""

    def __init__(self, fingerprint: str = "hash-1") -> None:
        self.fingerprint = fingerprint
        self.dimensions = SIZE
        self.asked: list[str] = []
        self.forgotten: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        seeds = [(self.fingerprint + text).encode("utf-8", "surrogatepass") for text in texts]
        data = b"".join(hashlib.sha256(seed).digest()[:SIZE] for seed in seeds)
        numbers = np.frombuffer(data, np.int8).reshape(-1, SIZE).astype(np.float32)
        return numbers / np.linalg.norm(numbers, axis=1, keepdims=True)

    def forget(self, texts: Sequence[str]) -> None:
        self.forgotten += texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[CachedEmbedder]:
    cache = CachedEmbedder(HashEmbedder(), path)
    yield cache
    cache.close()


def fresh(path: Path, fingerprint: str = "hash-1") -> tuple[CachedEmbedder, HashEmbedder]:
    inner = HashEmbedder(fingerprint)
    return CachedEmbedder(inner, path), inner


def in_processes(action: Callable[..., None], calls: Sequence[tuple[Any, ...]]) -> None:
    context = multiprocessing.get_context("fork")  # the others would import this file, which is in no package
    children = [context.Process(target=action, args=arguments) for arguments in calls]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads: these touch none of them
        for child in children:
            child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * len(children)


needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform"
)


def rows(path: Path) -> int:
    connection = sqlite3.connect(path)
    (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
    connection.close()
    return int(count)


def test_a_text_is_embedded_once(path: Path) -> None:
    texts = ["one", "two", "one", "", "two"]
    expected = HashEmbedder().embed(texts)
    first, inner = fresh(path)
    np.testing.assert_array_equal(first.embed(texts), expected)
    assert inner.asked == ["one", "two", ""]
    assert (first.hits, first.misses) == (0, 5)
    np.testing.assert_array_equal(first.embed(["three", "two"]), HashEmbedder().embed(["three", "two"]))
    assert (first.hits, first.misses) == (1, 6)
    first.close()
    second, inner = fresh(path)
    np.testing.assert_array_equal(second.embed(texts), expected)
    assert (inner.asked, second.hits, second.misses) == ([], 5, 0)
    assert second.embed([]).shape == (0, SIZE)
    assert (second.fingerprint, second.dimensions) == ("hash-1", SIZE)
    second.close()


def test_models_do_not_share_vectors(path: Path) -> None:
    for fingerprint in ("hash-1", "hash-2"):
        cache, inner = fresh(path, fingerprint)
        cache.embed(["one"])
        assert inner.asked == ["one"]
        np.testing.assert_array_equal(cache.embed(["one"]), HashEmbedder(fingerprint).embed(["one"]))
        cache.close()


def test_texts_are_never_stored(path: Path, cache: CachedEmbedder) -> None:
    text = "Confidential: the keeper of the lighthouse resigned."
    cache.embed([text])
    for file in path.parent.iterdir():
        assert b"Confidential" not in file.read_bytes()


def test_forget_overwrites_the_vectors_in_the_file(path: Path) -> None:
    texts = [f"text {number}" for number in range(50)]
    for fingerprint in ("hash-1", "hash-2"):
        cache, _ = fresh(path, fingerprint)
        cache.embed(texts)
        cache.close()
    cache, inner = fresh(path)
    cache.forget([*texts[:30], "never seen"])
    assert inner.forgotten == [*texts[:30], "never seen"]
    assert rows(path) == 2 * 20
    data = b"".join(file.read_bytes() for file in path.parent.iterdir())  # while the file is open: the log too
    for number, text in enumerate(texts):
        for fingerprint in ("hash-1", "hash-2"):
            vector = HashEmbedder(fingerprint).embed([text])[0].tobytes()
            assert (vector in data) == (number >= 30)
    cache.embed(texts)
    assert inner.asked == texts[:30]
    cache.close()


def test_forget_without_a_file_creates_none(path: Path, cache: CachedEmbedder) -> None:
    cache.forget(["one"])
    assert not path.exists()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.lists(st.text(max_size=6), max_size=12), max_size=6))
def test_the_cache_changes_no_vector(calls: list[list[str]], cache: CachedEmbedder) -> None:
    for texts in calls:
        np.testing.assert_array_equal(cache.embed(texts), HashEmbedder().embed(texts))


def test_lone_surrogates_are_cached_like_other_texts(cache: CachedEmbedder) -> None:
    assert cache.embed(["\ud83c", "\ud83d"]).shape == (2, SIZE)
    assert cache.embed(["\ud83d"]).shape == (1, SIZE)
    assert (cache.hits, cache.misses) == (1, 2)


def test_many_texts_take_few_statements(cache: CachedEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text {number}" for number in range(3000)]
    cache.embed(texts)
    statements: list[str] = []
    assert cache._file.connection is not None
    cache._file.connection.set_trace_callback(statements.append)
    cache.embed(texts)
    assert len(statements) == 6
    assert (cache.hits, cache.misses) == (3000, 3000)


@pytest.mark.parametrize(
    ("texts", "lost"),
    [
        ([f"text {number}" for number in range(2100)], 52),
        ([f"{number} {'word ' * 2_000}" for number in range(10, 30)], 5),
    ],
    ids=["many", "long"],
)
def test_vectors_embedded_before_an_interruption_are_saved(path: Path, texts: list[str], lost: int) -> None:
    """At most 2,048 texts, or about 50,000 characters, are embedded again."""
    cache, inner = fresh(path)
    plain = inner.embed

    def interrupted(some: Sequence[str]) -> NDArray[np.float32]:
        if texts[-1] in some:
            raise KeyboardInterrupt
        return plain(some)

    inner.embed = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        cache.embed(texts)
    inner.embed = plain  # type: ignore[method-assign]
    inner.asked.clear()
    np.testing.assert_array_equal(cache.embed(texts), HashEmbedder().embed(texts))
    assert texts[-1] in inner.asked
    assert len(inner.asked) == lost
    cache.close()


def test_file_size_is_bounded_and_recently_used_rows_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = 400_000
    cache = CachedEmbedder(inner := HashEmbedder(), path, max_bytes=bound)
    day = 20_000
    monkeypatch.setattr("hlgraph.models.cache._today", lambda: day)
    favourites = [f"favourite {number}" for number in range(100)]
    for batch in range(30):
        day += 1
        cache.embed([*favourites, *(f"text {batch} {number}" for number in range(200))])
    inner.asked.clear()
    cache.embed(favourites)
    assert inner.asked == []
    assert 500 < rows(path) < 5000
    cache.embed(["text 0 0"])
    assert inner.asked == ["text 0 0"]
    cache.close()
    assert path.stat().st_size < bound + 300 * 300


@pytest.mark.parametrize("dimensions", [384, 512, 768, 1_024])
def test_a_vector_takes_few_bytes_more_than_its_numbers(path: Path, dimensions: int) -> None:
    cache, count = CachedEmbedder(WordEmbedder(dimensions), path), 600
    for batch in range(3):
        cache.embed([f"text {batch} {number}" for number in range(count // 3)])
    cache.close()
    assert path.stat().st_size < 1.25 * count * 4 * dimensions


def test_size_limit_below_the_smallest_file_only_disables_caching(path: Path) -> None:
    cache = CachedEmbedder(HashEmbedder(), path, max_bytes=1)
    np.testing.assert_array_equal(cache.embed(["one"]), HashEmbedder().embed(["one"]))
    assert rows(path) == 0
    cache.close()


BROKEN = {
    "text": b"this is not a database, but it is longer than the header of one" * 30,
    "cut": None,
    "zeroed": None,
}


@pytest.mark.parametrize("damage", BROKEN)
def test_corrupt_file_is_renamed_and_replaced(damage: str, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"text {number}" for number in range(400)]
    cache, _ = fresh(path)
    cache.embed(texts)
    cache.close()
    data = path.read_bytes()
    broken = {"cut": data[: len(data) // 2 + 100], "zeroed": data[:4096] + bytes(len(data) - 4096)}
    path.write_bytes(BROKEN[damage] or broken[damage])
    cache, inner = fresh(path)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(cache.embed(texts), HashEmbedder().embed(texts))
    assert inner.asked == texts
    assert len(caplog.records) == 1
    assert "broken" in caplog.text
    assert path.with_name("cache.sqlite.broken").exists()
    inner.asked.clear()
    cache.embed(texts)
    assert inner.asked == []
    cache.forget(texts[:1])
    assert not path.with_name("cache.sqlite.broken").exists()  # it may have held the text
    cache.close()


def test_a_damaged_vector_is_computed_again(path: Path, cache: CachedEmbedder) -> None:
    texts = ["short", "zero", "nan", "good"]
    cache.embed(texts)
    bad = {"short": b"abc", "zero": bytes(4 * SIZE), "nan": np.full(SIZE, np.nan, np.float32).tobytes()}
    connection = sqlite3.connect(path)
    with connection:
        for text, blob in bad.items():
            key = hashlib.sha256(text.encode()).digest()
            connection.execute("UPDATE vectors SET vector = ? WHERE text_hash = ?", (blob, key))
    connection.close()
    for expected in (["short", "zero", "nan"], []):
        again, inner = fresh(path)
        np.testing.assert_array_equal(again.embed(texts), HashEmbedder().embed(texts))
        assert inner.asked == expected
        again.close()


def test_unwritable_folder_disables_the_cache_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    cache, inner = fresh(tmp_path / "file" / "cache.sqlite")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            np.testing.assert_array_equal(cache.embed(["one"]), HashEmbedder().embed(["one"]))
    assert inner.asked == ["one"] * 3
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "HLGRAPH_CACHE" in caplog.text


def test_a_foreign_database_is_left_alone(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE vectors (mine TEXT)")
    connection.close()
    cache, _ = fresh(path)
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(cache.embed(["one"]), HashEmbedder().embed(["one"]))
    assert "cannot be used" in caplog.text
    assert rows(path) == 0


def fill_the_disk(path: Path) -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_200_000, 1_200_000))
    said: list[logging.LogRecord] = []
    logging.getLogger("hlgraph.models.sqlite_file").addFilter(lambda record: not said.append(record))
    cache, _ = fresh(path)
    for start in range(0, 6000, 500):
        texts = [f"text {number}" for number in range(start, start + 500)]
        np.testing.assert_array_equal(cache.embed(texts), HashEmbedder().embed(texts))
    assert [record.levelname for record in said] == ["WARNING"]


@needs_fork
def test_a_full_disk_disables_the_cache_with_one_warning(path: Path) -> None:
    in_processes(fill_the_disk, [(path,)])
    cache, inner = fresh(path)
    cache.embed(["text 0"])
    assert inner.asked == []  # what was saved before is whole
    cache.close()


def test_locked_file_is_waited_for_and_then_skipped(
    path: Path, cache: CachedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlgraph.models.sqlite_file._WAIT_SECONDS", 0.05)
    cache.embed(["one"])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    np.testing.assert_array_equal(cache.embed(["one", "two"]), HashEmbedder().embed(["one", "two"]))
    other.execute("ROLLBACK")
    other.close()
    cache.embed(["two"])
    cache.embed(["two"])
    assert (cache.hits, cache.misses) == (2, 3)


def test_failed_forget_logs_a_warning(
    path: Path, cache: CachedEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("hlgraph.models.sqlite_file._WAIT_SECONDS", 0.05)
    cache.embed(["one"])
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM vectors").fetchall()  # it still sees the vector
    cache.forget(["one"])
    assert "forgotten" in caplog.text
    reader.close()


def test_threads_share_one_cache(cache: CachedEmbedder) -> None:
    texts = [f"text {number}" for number in range(200)]
    expected = HashEmbedder().embed(texts)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(lambda shift: cache.embed(texts[shift:] + texts[:shift]), range(0, 200, 10)):
            assert vectors.shape == expected.shape
    np.testing.assert_array_equal(cache.embed(texts), expected)
    assert cache.hits + cache.misses == 21 * 200


def work(path: Path, number: int) -> None:
    cache, _ = fresh(path)
    for start in range(0, 400, 40):
        texts = [f"text {(number * 130 + start + each) % 400}" for each in range(40)]
        np.testing.assert_array_equal(cache.embed(texts), HashEmbedder().embed(texts))
        cache.forget(texts[:2])
    cache.embed([f"own {number} {each}" for each in range(50)])
    cache.close()


@needs_fork
@pytest.mark.parametrize("is_broken", [False, True])
def test_processes_share_one_file(is_broken: bool, path: Path) -> None:
    if is_broken:
        path.parent.mkdir()
        path.write_bytes(b"nothing of a database" * 1000)
    in_processes(work, [(path, number) for number in range(4)])
    cache, inner = fresh(path)
    cache.embed([f"own {number} {each}" for number in range(4) for each in range(50)])
    assert inner.asked == []
    cache.close()


def ask(cache: CachedEmbedder) -> None:
    np.testing.assert_array_equal(cache.embed(["one", "two"]), HashEmbedder().embed(["one", "two"]))
    assert (cache.hits, cache.misses) == (2, 2)
    cache.close()


@needs_fork
def test_a_forked_process_opens_the_file_for_itself(cache: CachedEmbedder) -> None:
    cache.embed(["one", "two"])
    in_processes(ask, [(cache,), (cache,)])
    cache.embed(["one", "three"])
    assert (cache.hits, cache.misses) == (1, 3)
