"""Cache vectors on disk, so that no text is embedded twice by the same model."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress, telemetry
from hlgraph.models.checked import CheckedEmbedder
from hlgraph.models.protocols import Embedder
from hlgraph.models.sqlite_file import DiskFile, pruned, writing
from hlgraph.records import group_by
from hlgraph.settings import cache_folder
from hlgraph.stores.freed_bytes import empty_log

_log = logging.getLogger(__name__)
CACHE_FILE = "embeddings-1.sqlite"  # 1 is the version of its schema

_SCHEMA = """
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    text_hash BLOB NOT NULL,
    model INTEGER NOT NULL,
    used INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE UNIQUE INDEX vectors_by_text ON vectors (text_hash, model);
CREATE INDEX vectors_by_use ON vectors (used, id);
"""
_PAGE_BYTES = 32_768  # two vectors of 384 numbers leave a quarter of a page of 4 KiB empty, one of 512 a half
_KEYS_AT_ONCE = 500  # a SQLite build may allow only 999 parameters
# Limits of one part that is embedded and saved together; an interruption loses at most one part, two seconds of work of a small
# local model on one core.
_TEXTS_AT_ONCE = 2048
_CHARACTERS_AT_ONCE = 50_000
_SECONDS_A_DAY = 86_400
_LOSS = "every text is embedded again; free disk space, or set HLGRAPH_CACHE to a writable folder"
_QUESTION = "question\0"  # no text begins like this: readers remove NUL


class CachedEmbedder:
    """An embedder with a cache file. Safe for threads, forks, and several processes on one file.

    The key of a vector is the fingerprint of the model and the SHA-256 of the text; the text itself is never stored. When
    the file exceeds ``max_bytes``, the least recently used tenth of its rows is deleted (use is recorded by the day).

    The cache is optional: a file that cannot be used (read-only, disk full) is disabled after one warning, and a corrupt
    one is renamed and replaced. Neither raises an error.

    Parameters
    ----------
    inner : embeds the texts that are not in the file
    path : the file; created at its first use, with its parent folders
    max_bytes : maximum size of the file in bytes; default 1 GiB

    Attributes
    ----------
    hits, misses : texts found and not found in the file since this object was created; a text that occurs twice in one call
        counts twice
    """

    def __init__(self, inner: Embedder, path: Path, *, max_bytes: int = 1 << 30) -> None:
        self._inner = CheckedEmbedder(inner)
        self._file = _disk_file(path)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model; the cache does not change it."""
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text, from the file if it is there, else from the model."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        rows = group_by(range(len(texts)), lambda row: _text_hash(texts[row]))
        stored = self._pull(list(rows))
        for key, vector in stored.items():
            vectors[rows[key]] = vector
        missing = [key for key in rows if key not in stored]
        count = sum(len(rows[key]) for key in missing)
        with self._lock:
            self.hits += len(texts) - count
            self.misses += count
        progress.advance("embed", len(texts) - len(missing))
        for keys in _parts({key: texts[rows[key][0]] for key in missing}):
            with telemetry.model_call("embeddings", self.fingerprint):
                new = self._inner.embed([texts[rows[key][0]] for key in keys])
            for key, vector in zip(keys, new, strict=True):
                vectors[rows[key]] = vector
            self._save(keys, new)
        return vectors

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """The vector of a question; stored apart from those of texts, since a model may embed the two differently."""
        key = _text_hash(f"{_QUESTION}{question}")
        stored = self._pull([key])
        with self._lock:
            self.hits += len(stored)
            self.misses += not stored
        if not stored:
            with telemetry.model_call("embeddings", self.fingerprint):
                vector = self._inner.embed_question(question)
            self._save([key], vector[np.newaxis])
            return vector
        return stored[key]

    def forget(self, texts: Sequence[str]) -> None:
        """Delete the vectors of these texts, for every model, and overwrite their space in the file.

        A corrupt file that was renamed is deleted as a whole, since its contents are unknown.
        """
        _forget(self._file, texts)
        self._inner.forget(texts)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def _pull(self, keys: list[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The intact vectors in the file, by the hash of their text."""

        def select(connection: sqlite3.Connection) -> list[tuple[int, bytes, int, bytes]]:
            rows: list[tuple[int, bytes, int, bytes]] = []
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                part = keys[start : start + _KEYS_AT_ONCE]
                marks = ",".join("?" * len(part))
                # Only question marks are inserted into the statement.
                statement = (
                    f"SELECT id, text_hash, used, vector FROM vectors WHERE model = ? AND text_hash IN ({marks})"  # noqa: S608
                )
                rows += connection.execute(statement, (self._model, *part))
            return [row for row in rows if len(row[3]) == 4 * self.dimensions]

        rows = (self._file.attempt(select) or []) if keys else []
        if not rows:
            return {}
        vectors = np.frombuffer(b"".join(row[3] for row in rows), dtype="<f4").reshape(len(rows), -1)
        # A row that is not a unit vector is damaged; it is computed again.
        is_whole = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3
        today = _today()
        self._touch([row[0] for row in rows if row[2] < today], today)
        return {row[1]: vector for row, vector, whole in zip(rows, vectors, is_whole, strict=True) if whole}

    def _touch(self, ids: list[int], today: int) -> None:
        """Record that rows were used today; at most once a day, so that most reads write nothing."""
        statement, values = "UPDATE vectors SET used = ? WHERE id = ?", [(today, row) for row in ids]
        if ids:
            self._file.write(lambda connection: connection.executemany(statement, values))

    def _save(self, keys: list[bytes], vectors: NDArray[np.float32]) -> None:
        blobs = [row.tobytes() for row in np.ascontiguousarray(vectors, dtype="<f4")]
        today, model = _today(), self._model

        def insert(connection: sqlite3.Connection) -> None:
            statement = "INSERT OR REPLACE INTO vectors (text_hash, model, used, vector) VALUES (?, ?, ?, ?)"
            connection.executemany(
                statement, ((key, model, today, blob) for key, blob in zip(keys, blobs, strict=True))
            )
            while pruned(connection, self._max_bytes, table="vectors", order="used, id"):
                pass

        self._file.write(insert)

    @property
    def _model(self) -> int:
        """The fingerprint, or the model's ``cache_name`` if it has one, as the 64-bit number in the column ``model``."""
        name = self._inner.cache_name
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def cache_file(folder: str | None) -> Path:
    """Path of the embedding cache in ``folder``; None: the user's cache folder."""
    return cache_folder(folder) / CACHE_FILE


def forget_texts(path: Path, texts: Sequence[str]) -> None:
    """Delete the vectors of these texts from a cache file, as :meth:`CachedEmbedder.forget` does; no model is needed.

    Parameters
    ----------
    path : the file; a missing file holds nothing
    texts : the texts, as they were embedded
    """
    file = _disk_file(path)
    try:
        _forget(file, texts)
    finally:
        file.close()


def _disk_file(path: Path) -> DiskFile:
    return DiskFile(path, _SCHEMA, name="embedding cache", loss=_LOSS, page_bytes=_PAGE_BYTES)


def _forget(file: DiskFile, texts: Sequence[str]) -> None:
    keys = list({_text_hash(text) for text in texts})

    def delete(connection: sqlite3.Connection) -> bool:
        file.broken.unlink(missing_ok=True)
        with writing(connection):
            connection.executemany("DELETE FROM vectors WHERE text_hash = ?", ((key,) for key in keys))
        return empty_log(connection)

    if keys and file.path.exists() and not file.attempt(delete):
        _log.warning(
            "embedding cache %s may still hold vectors of %d forgotten texts; delete the file", file.path, len(keys)
        )


def _parts(texts: Mapping[bytes, str]) -> Iterator[list[bytes]]:
    """Keys of texts in parts of bounded work. Several parts are sorted by the length of texts, as a model pads to one length."""
    part: list[bytes] = []
    size = 0
    is_one = len(texts) <= _TEXTS_AT_ONCE and sum(map(len, texts.values())) <= _CHARACTERS_AT_ONCE
    for key, text in texts.items() if is_one else sorted(texts.items(), key=lambda item: len(item[1])):
        part.append(key)
        size += len(text)
        if size >= _CHARACTERS_AT_ONCE or len(part) >= _TEXTS_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _text_hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _today() -> int:
    return int(time.time()) // _SECONDS_A_DAY
