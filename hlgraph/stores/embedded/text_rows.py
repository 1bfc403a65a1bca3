"""Full text of the vector store: the rows of each word, in blocks of one page at most, and their ranking by BM25.

Each kind of each corpus has its own lists and statistics: the rarity of a word is measured among the rows of its kind, and a
ranking says nothing about other corpora. Writing or removing a row changes one block for each of its words, so it costs no
more in a large corpus, and SQLite overwrites what is removed (``secure_delete``).
"""

from __future__ import annotations

import json
import math
import sqlite3
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hlgraph.stores.terms import parts, stem
from hlgraph.text import words

_ENTRY = np.dtype([("row", "<u4"), ("count", "<u2"), ("length", "<u2")])
_PACKED = struct.Struct("<IHH")
_SIZE = _PACKED.size
_BLOCK = 112  # entries of a block: it fits into a page of SQLite, with its word and without an overflow page
_MOST = 65_535
_KNOWN = 200_000  # words whose stems are cached
_K1, _B = 1.2, 0.75
_LEAST_RARITY = 1e-6  # weight of a word that half of the rows have, as in FTS5


@lru_cache(maxsize=_KNOWN)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(map(stem, parts(word)))


def entries(texts: Sequence[str]) -> list[str]:
    """What is indexed of each text, a line each: the stems of its words, and words of several stems as a whole.

    Examples
    --------
    >>> entries(["The U.S. mills"])[0].splitlines()
    ['the', 'u', 's', 'u s', 'mill']
    """
    return ["\n".join(line for word in words(text) for line in _lines(word)) for text in texts]


def _lines(word: str) -> tuple[str, ...]:
    stems = _stems(word)
    return stems if len(stems) < 2 else (*stems, " ".join(stems))


def index_rows(connection: sqlite3.Connection, file: int, *, rows: Sequence[tuple[int, str]]) -> None:
    """Add rows to the index; the caller holds the transaction.

    Parameters
    ----------
    connection : connection of the writer
    file : number of the matrix
    rows : number of each row in the database, and its entry, see :func:`entries`
    """
    lists: defaultdict[str, bytearray] = defaultdict(bytearray)
    total = 0
    for n, text in sorted(rows):
        counts, length = _counted(text)
        total += length
        for word, count in counts.items():
            lists[word] += _PACKED.pack(n, min(count, _MOST), min(length, _MOST))
    connection.executemany("INSERT INTO text VALUES (?, ?, ?)", ((n, file, text) for n, text in rows))
    wanted = sorted(lists)  # neighbours in the tree of the table
    last = _last_blocks(connection, file, wanted)
    written: list[tuple[int, str, int, bytes]] = []
    for word in wanted:
        fresh, stored = bytes(lists[word]), last.get(word, b"")
        is_late = bool(stored) and _row_at(stored, -_SIZE) > _row_at(fresh, 0)  # a repair writes an old row again
        whole = _merged(connection, file, word, fresh=fresh) if is_late else stored + fresh
        for at in range(0, len(whole), _BLOCK * _SIZE):
            part = whole[at : at + _BLOCK * _SIZE]
            written.append((file, word, _row_at(part, 0), part))
    connection.executemany("INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?)", written)
    _add_to_totals(connection, file, texts=len(rows), length=total)


def _merged(connection: sqlite3.Connection, file: int, word: str, *, fresh: bytes) -> bytes:
    """New entries among those of all blocks that they belong to; these blocks are removed."""
    values = (file, word, _row_at(fresh, 0))
    of = "file = ?1 AND word = ?2 AND first >= coalesce("
    of += "(SELECT max(first) FROM posting WHERE file = ?1 AND word = ?2 AND first <= ?3), ?3)"
    blocks = [
        block for (block,) in connection.execute(f"SELECT entries FROM posting WHERE {of} ORDER BY first", values)
    ]
    connection.execute(f"DELETE FROM posting WHERE {of}", values)
    whole = _decoded([*blocks, fresh])
    return whole[np.argsort(whole["row"], kind="stable")].tobytes()


def _row_at(block: bytes, place: int) -> int:
    row: int = _PACKED.unpack_from(block, place)[0]
    return row


def remove_rows(connection: sqlite3.Connection, file: int, *, rows: Sequence[int]) -> None:
    """Remove rows from the index; the caller holds the transaction.

    Parameters
    ----------
    connection : connection of the writer
    file : number of the matrix
    rows : numbers of the rows in the database
    """
    lists: defaultdict[str, list[int]] = defaultdict(list)
    total = 0
    stored = connection.execute(
        "SELECT n, words FROM text WHERE n IN (SELECT value FROM json_each(?)) AND file = ? ORDER BY n",
        (json.dumps(list(rows)), file),
    ).fetchall()
    for n, text in stored:
        counts, length = _counted(text)
        total += length
        for word in counts:
            lists[word].append(n)
    for word in sorted(lists):
        gone = np.array(lists[word], dtype=np.uint32)
        for first, block in _blocks(connection, file, word, rows=lists[word]):
            kept = _decoded([block])
            kept = kept[~np.isin(kept["row"], gone)]
            connection.execute("DELETE FROM posting WHERE file = ? AND word = ? AND first = ?", (file, word, first))
            if len(kept):
                values = (file, word, int(kept["row"][0]), kept.tobytes())
                connection.execute("INSERT INTO posting VALUES (?, ?, ?, ?)", values)
    connection.executemany("DELETE FROM text WHERE n = ?", ((n,) for n, _ in stored))
    _add_to_totals(connection, file, texts=-len(stored), length=-total)


def forget_file(connection: sqlite3.Connection, file: int) -> None:
    """Remove all rows of a matrix from the index.

    Parameters
    ----------
    connection : connection of the writer
    file : number of the matrix
    """
    connection.execute("DELETE FROM posting WHERE file = ?", (file,))
    connection.execute("DELETE FROM text WHERE file = ?", (file,))
    connection.execute("UPDATE vector_file SET texts = 0, length = 0 WHERE file = ?", (file,))


def query_words(tokens: Sequence[str]) -> list[str]:
    """The indexed form of each word of a question; a word of several stems counts as a whole.

    Parameters
    ----------
    tokens : words
    """
    return [" ".join(stems) for stems in map(_stems, tokens) if stems]


def ranked(
    wanted: Sequence[str], blocks: Iterable[tuple[str, bytes]], *, texts: int, length: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows with their scores by BM25 (k1 1.2, b 0.75), in the order of rows.

    Parameters
    ----------
    wanted : words; one that occurs twice counts twice
    blocks : word and entries of each block, in the order of rows
    texts : number of rows of the index
    length : number of words of all rows
    """
    average = length / texts if texts and length else 1.0
    lists: dict[str, list[bytes]] = {}
    for word, block in blocks:
        lists.setdefault(word, []).append(block)
    rows: list[NDArray[np.int64]] = []
    parts: list[NDArray[np.float64]] = []
    for word in wanted:
        postings = _decoded(lists.get(word, ()))
        rarity = max(math.log((texts - len(postings) + 0.5) / (len(postings) + 0.5)), _LEAST_RARITY)
        counts, lengths = postings["count"].astype(np.float64), postings["length"].astype(np.float64)
        rows.append(postings["row"].astype(np.int64))
        # In this order of operations the last digits are those of the OpenSearch store, so that ties are the same.
        parts.append(rarity * ((counts * (_K1 + 1.0)) / (counts + _K1 * (1 - _B + _B * lengths / average))))
    if not rows:
        return np.empty(0, dtype=np.int64), np.empty(0)
    places, inverse = np.unique(np.concatenate(rows), return_inverse=True)
    scores = np.bincount(inverse, weights=np.concatenate(parts), minlength=len(places))
    return places, scores.astype(np.float64)


def best_first(scores: NDArray[np.float64], least: int) -> Iterator[NDArray[np.intp]]:
    """The positions of scores in parts, the highest first; equal scores are in one part. Each part is longer.

    Parameters
    ----------
    scores : shape (n,)
    least : minimum length of the first part
    """
    above = np.inf
    while above > -np.inf:
        count = min(least, len(scores))
        bound = np.partition(scores, len(scores) - count)[len(scores) - count] if count < len(scores) else -np.inf
        yield np.flatnonzero((scores >= bound) & (scores < above))
        above, least = bound, 4 * least


def is_broken(connection: sqlite3.Connection, file: int) -> bool:
    """Whether the lists of a matrix are not those of its texts. Reads all of them.

    Parameters
    ----------
    connection : connection to read with
    file : number of the matrix
    """
    wanted: Counter[tuple[str, int]] = Counter()
    texts = total = 0
    for n, text in connection.execute("SELECT n, words FROM text WHERE file = ?", (file,)):
        counts, length = _counted(text)
        texts, total = texts + 1, total + length
        for word, count in counts.items():
            wanted[word, 0] += 1
            wanted[word, 1] += n * min(count, _MOST) + n * n + min(length, _MOST)
    for word, block in connection.execute("SELECT word, entries FROM posting WHERE file = ?", (file,)):
        if len(block) % _ENTRY.itemsize:
            return True
        postings = _decoded([block]).astype([("row", "<i8"), ("count", "<i8"), ("length", "<i8")])
        wanted[word, 0] -= len(postings)
        wanted[word, 1] -= int((postings["row"] * postings["count"] + postings["row"] ** 2 + postings["length"]).sum())
    row = connection.execute("SELECT texts, length FROM vector_file WHERE file = ?", (file,)).fetchone()
    return any(wanted.values()) or row != (texts, total)


def _counted(text: str) -> tuple[Counter[str], int]:
    """How often each indexed word occurs, and the number of stems."""
    lines = text.split("\n") if text else []
    return Counter(lines), sum(" " not in line for line in lines)


def _decoded(blocks: Iterable[bytes]) -> NDArray[np.void]:
    return np.frombuffer(b"".join(blocks), dtype=_ENTRY)


def _last_blocks(connection: sqlite3.Connection, file: int, wanted: list[str]) -> dict[str, bytes]:
    rows = connection.execute(
        "SELECT w.value, (SELECT entries FROM posting WHERE file = ? AND word = w.value ORDER BY first DESC LIMIT 1) "
        "FROM json_each(?) AS w",
        (file, json.dumps(wanted)),
    )
    return {word: block for word, block in rows if block is not None}


def _blocks(connection: sqlite3.Connection, file: int, word: str, *, rows: list[int]) -> list[tuple[int, bytes]]:
    """The blocks of a word that may have entries of some rows, given in ascending order."""
    return connection.execute(
        "SELECT first, entries FROM posting WHERE file = ?1 AND word = ?2 AND first <= ?4 AND first >= coalesce("
        "(SELECT max(first) FROM posting WHERE file = ?1 AND word = ?2 AND first <= ?3), ?3) ORDER BY first",
        (file, word, rows[0], rows[-1]),
    ).fetchall()


def _add_to_totals(connection: sqlite3.Connection, file: int, *, texts: int, length: int) -> None:
    connection.execute(
        "UPDATE vector_file SET texts = texts + ?, length = length + ? WHERE file = ?", (texts, length, file)
    )
