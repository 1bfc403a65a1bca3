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
import zlib
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.stores.terms import parts, stem
from hlgraph.text import words

_BLOCK = 900  # bytes of a block: it fits into a page of SQLite, with its word and without an overflow page
_SHORT = 100  # bytes below which a block is written in a wider form rather than followed by another one
_TEXT_BLOCK = 16_384  # bytes of the entries of a block of "text", before they are compressed
_MOST = 65_535
_KNOWN = 16_384  # words whose lines are cached
_K1, _B = 1.2, 0.75
_LEAST_RARITY = 1e-6  # weight of a word that half of the rows have, as in FTS5


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


@lru_cache(maxsize=_KNOWN)
def _lines(word: str) -> tuple[str, ...]:
    stems = _stems(word)
    return stems if len(stems) < 2 else (*stems, " ".join(stems))


# A block of "posting" is a byte for its form and an entry for each row, in ascending order: the number of the row less that of the
# first row of the block, the number of words of the row, and how often the row has the word, less one. Each is as wide as the
# largest of the block needs; a block of one row needs no number, and one of words that occur once no count.

_Entry = tuple[int, int, int]
"""Number of a row, number of its words, and how often it has the word."""
_LETTERS = {0: "", 1: "B", 2: "H", 4: "I"}
_LENGTH, _COUNT = 3, 6  # bits of the code of a form before the width of that number


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of a block: the widths of row, length and count in bytes, and how Python and numpy read its entries.

    ``ends`` are the least number of a row after the first one, length and count that do not fit.
    """

    row: int
    length: int
    count: int
    ends: tuple[int, int, int]
    packing: struct.Struct
    dtype: np.dtype[np.void]


@lru_cache(maxsize=64)
def _form(code: int) -> _Form:
    """The form with a code. Raises KeyError if there is none."""
    widths = {"row": code & 7, "length": (code >> _LENGTH) & 7, "count": code >> _COUNT}
    letters = "<" + "".join(_LETTERS[width] for width in widths.values())
    if not widths["length"]:
        raise KeyError(code)
    dtype = np.dtype([(name, f"<u{width}") for name, width in widths.items() if width])
    row, length, count = (1 << 8 * width for width in widths.values())
    return _Form(**widths, ends=(row, length, count + 1), packing=struct.Struct(letters), dtype=dtype)


def _width(value: int) -> int:
    return 1 if value < 1 << 8 else 2 if value < 1 << 16 else 4


def _code_of(entries: Sequence[_Entry], first: int) -> int:
    """The code of the narrowest form of some entries."""
    last, length, count = entries[-1]
    if len(entries) > 1:
        length = max([length for _, length, _ in entries])
        count = max([count for _, _, count in entries])
    row = 0 if last == first else _width(last - first)
    return row | _width(length) << _LENGTH | (0 if count == 1 else _width(count - 1) << _COUNT)


def _packed(entries: Sequence[_Entry], first: int, form: _Form) -> bytes:
    pack = form.packing.pack
    if form.row and form.count:
        return b"".join([pack(row - first, length, count - 1) for row, length, count in entries])
    if form.row:
        return b"".join([pack(row - first, length) for row, length, _ in entries])
    if form.count:
        return b"".join([pack(length, count - 1) for _, length, count in entries])
    return b"".join([pack(length) for _, length, _ in entries])


def _unpacked(first: int, block: bytes) -> list[_Entry]:
    """The entries of a block. Raises LookupError or ValueError for anything else than a block."""
    form = _form(block[0])
    if (len(block) - 1) % form.packing.size:
        raise ValueError("a block of rows by word is cut")
    rows = form.packing.iter_unpack(block[1:])
    if form.row and form.count:
        return [(first + row, length, count + 1) for row, length, count in rows]
    if form.row:
        return [(first + row, length, 1) for row, length in rows]
    return [(first, row[0], row[1] + 1 if form.count else 1) for row in rows]


def _blocks_of(entries: Sequence[_Entry]) -> Iterator[tuple[int, bytes]]:
    """The first row and the bytes of each block of some entries, in ascending order of rows."""
    start = 0
    while start < len(entries):
        part = entries[start : start + _BLOCK]
        first = part[0][0]
        code = _code_of(part, first)
        room = max(1, _BLOCK // _form(code).packing.size)
        if len(part) > room:
            part = part[:room]
            code = _code_of(part, first)
        yield first, bytes((code,)) + _packed(part, first, _form(code))
        start += len(part)


@lru_cache(maxsize=_SHORT)
def _single(length: int, count: int) -> bytes:
    """The block of one row."""
    ((_, block),) = _blocks_of([(0, length, count)])
    return block


def _appended(first: int, block: bytes, fresh: Sequence[_Entry]) -> bytes | None:
    """A block with later entries, if its form is wide enough and it has room; else None."""
    form = _form(block[0])
    row, most_length, most_count = form.ends
    if fresh[-1][0] - first >= row or len(block) + form.packing.size * len(fresh) > _BLOCK:
        return None
    if any(length >= most_length or count >= most_count for _, length, count in fresh):
        return None
    return block + _packed(fresh, first, form)


def _last_row(first: int, block: bytes) -> int:
    form = _form(block[0])
    last: int = form.packing.unpack_from(block, len(block) - form.packing.size)[0] if form.row else 0
    return first + last


def packed_entries(entries: bytes) -> bytes:
    """A block of the form before version 17 of the schema (row, count and length of 8 bytes) in the present one.

    Parameters
    ----------
    entries : the block
    """
    ((_, block),) = _blocks_of([(row, length, count) for row, count, length in struct.iter_unpack("<IHH", entries)])
    return block


def index_rows(connection: sqlite3.Connection, file: int, *, rows: Sequence[tuple[int, str]]) -> None:
    """Add rows to the index; the caller holds the transaction.

    Parameters
    ----------
    connection : connection of the writer
    file : number of the matrix
    rows : number of each row in the database, and its entry, see :func:`entries`
    """
    lists: defaultdict[str, list[_Entry]] = defaultdict(list)
    total = 0
    for n, text in sorted(rows):
        counts, length = _counted(text)
        total += length
        size = min(length, _MOST)
        once = n, size, 1
        for word, count in counts.items():
            lists[word].append(once if count == 1 else (n, size, min(count, _MOST)))
    _change_texts(connection, file, added=dict(rows))
    wanted = sorted(lists)  # neighbours in the tree of the table
    last = _last_blocks(connection, file, wanted)
    written: list[tuple[int, str, int, bytes]] = []
    for word in wanted:
        fresh = lists[word]
        if word in last:
            first, block = last[word]
            is_late = _last_row(first, block) > fresh[0][0]  # a repair writes an old row again
            whole = None if is_late else _appended(first, block, fresh)
            if whole is not None:
                written.append((file, word, first, whole))
                continue
            if is_late:
                fresh = _merged(connection, file, word, fresh=fresh)
            elif len(block) < _SHORT:  # a longer one stays, and others follow it
                fresh = [*_unpacked(first, block), *fresh]
        if len(fresh) > 1:
            written += [(file, word, first, block) for first, block in _blocks_of(fresh)]
        else:  # as most are
            written.append((file, word, fresh[0][0], _single(*fresh[0][1:])))
    connection.executemany("INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?)", written)
    _add_to_totals(connection, file, texts=len(rows), length=total)


def _merged(connection: sqlite3.Connection, file: int, word: str, *, fresh: Sequence[_Entry]) -> list[_Entry]:
    """New entries among those of all blocks that they belong to; these blocks are removed."""
    values = (file, word, fresh[0][0])
    of = "file = ?1 AND word = ?2 AND first >= coalesce("
    of += "(SELECT max(first) FROM posting WHERE file = ?1 AND word = ?2 AND first <= ?3), ?3)"
    blocks = connection.execute(f"SELECT first, entries FROM posting WHERE {of}", values).fetchall()
    connection.execute(f"DELETE FROM posting WHERE {of}", values)
    return sorted([*fresh, *(entry for first, block in blocks for entry in _unpacked(first, block))])


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
    stored = _change_texts(connection, file, removed=rows)
    for n, text in sorted(stored.items()):
        counts, length = _counted(text)
        total += length
        for word in counts:
            lists[word].append(n)
    for word in sorted(lists):
        gone = frozenset(lists[word])
        for first, block in _blocks(connection, file, word, rows=lists[word]):
            kept = [entry for entry in _unpacked(first, block) if entry[0] not in gone]
            connection.execute("DELETE FROM posting WHERE file = ? AND word = ? AND first = ?", (file, word, first))
            values = ((file, word, *part) for part in _blocks_of(kept))
            connection.executemany("INSERT INTO posting VALUES (?, ?, ?, ?)", values)
    _add_to_totals(connection, file, texts=-len(stored), length=-total)


# "text" holds the entries of rows in blocks, compressed: a removal reads from them which words a row has.


def packed_texts(texts: Mapping[int, str]) -> bytes:
    """The block of some entries by number of row."""
    return zlib.compress(msgspec.msgpack.encode(texts))


def texts_of(block: bytes) -> dict[int, str]:
    """The entries of a block by number of row. Raises ValueError for anything else than a block."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(block), type=dict[int, str])
    except zlib.error as error:
        raise ValueError(f"a block of words cannot be read ({error})") from error


def all_texts(connection: sqlite3.Connection, file: int) -> Iterator[tuple[int, str]]:
    """The entries of all rows of a matrix, with their numbers, block by block.

    Parameters
    ----------
    connection : connection to read with
    file : number of the matrix
    """
    for (block,) in connection.execute("SELECT words FROM text WHERE file = ? ORDER BY first", (file,)):
        yield from sorted(texts_of(block).items())


def _text_blocks(connection: sqlite3.Connection, file: int, rows: Iterable[int]) -> dict[int, dict[int, str]]:
    """The blocks that have some rows, or that they belong to, by their key; rows before the first block belong to none."""
    stored = connection.execute(
        "SELECT first, words FROM text WHERE first IN (SELECT (SELECT max(first) FROM text WHERE file = ?1 AND first <= w.value) "
        "FROM json_each(?2) AS w)",
        (file, json.dumps(sorted(rows))),
    )
    return {first: texts_of(block) for first, block in stored}


def _change_texts(
    connection: sqlite3.Connection, file: int, *, added: Mapping[int, str] | None = None, removed: Iterable[int] = ()
) -> dict[int, str]:
    """Add entries to the blocks that they belong to, or remove some; returns those that were removed."""
    added, gone = added or {}, frozenset(removed)
    taken: dict[int, str] = {}
    stored = _text_blocks(connection, file, added.keys() | gone)
    firsts = sorted(stored)
    blocks = {first: dict(block) for first, block in stored.items()}
    lowest = min(added, default=0)
    for n in added:
        at = bisect(firsts, n)
        blocks.setdefault(firsts[at - 1] if at else lowest, {})[n] = added[n]
    for first, block in blocks.items():
        taken |= {n: block.pop(n) for n in gone & block.keys()}
        if block == stored.get(first):
            continue
        connection.execute("DELETE FROM text WHERE first = ?", (first,))
        parts = _divided(sorted(block.items()))
        connection.executemany(
            "INSERT INTO text VALUES (?, ?, ?)", ((min(part), file, packed_texts(part)) for part in parts)
        )
    return taken


def _divided(rows: Sequence[tuple[int, str]]) -> list[dict[int, str]]:
    """Rows in blocks of bounded size."""
    sizes = np.cumsum([len(text) for _, text in rows])
    numbered = zip((sizes // _TEXT_BLOCK).tolist(), rows, strict=True)
    return [dict(row for _, row in part) for _, part in groupby(numbered, key=lambda pair: pair[0])]


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
    wanted: Sequence[str],
    blocks: Iterable[tuple[str, int, bytes]],
    *,
    texts: int,
    length: int,
    only: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows with their scores by BM25 (k1 1.2, b 0.75), in the order of rows.

    Parameters
    ----------
    wanted : words; one that occurs twice counts twice
    blocks : word, first row and entries of each block
    texts : number of rows of the index
    length : number of words of all rows
    only : the rows that count, ascending: ``texts`` and ``length`` are then those of these rows, with a word. None: all
    """
    lists: dict[str, list[tuple[int, bytes]]] = {}
    for word, first, block in blocks:
        lists.setdefault(word, []).append((first, block))
    if not lists:
        return np.empty(0, dtype=np.int64), np.empty(0)
    terms, rows, lengths, counts = _decoded(
        [(at, *block) for at, word in enumerate(wanted) for block in lists.get(word, ())]
    )
    counted = texts
    if only is not None:
        there, starts = np.unique(rows, return_index=True)
        is_in = np.isin(there, only, assume_unique=True)
        texts = len(only)
        counted, length = int(is_in.sum()), int(lengths[starts[is_in]].sum())
        is_kept = np.isin(rows, there[is_in])
        terms, rows, lengths, counts = terms[is_kept], rows[is_kept], lengths[is_kept], counts[is_kept]
    average = length / counted if counted and length else 1.0
    frequencies = np.bincount(terms, minlength=len(wanted)).tolist()
    rarities = [max(math.log((texts - one + 0.5) / (one + 0.5)), _LEAST_RARITY) for one in frequencies]
    # In this order of operations the last digits are those of the OpenSearch store, so that ties are the same.
    parts = np.array(rarities)[terms] * ((counts * (_K1 + 1.0)) / (counts + _K1 * (1 - _B + _B * lengths / average)))
    places, inverse = np.unique(rows, return_inverse=True)
    scores = np.bincount(inverse, weights=parts, minlength=len(places))
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
    try:
        for n, text in all_texts(connection, file):
            counts, length = _counted(text)
            texts, total = texts + 1, total + length
            for word, count in counts.items():
                wanted[word, 0] += 1
                wanted[word, 1] += n * min(count, _MOST) + n * n + min(length, _MOST)
        for word, first, block in connection.execute(
            "SELECT word, first, entries FROM posting WHERE file = ?", (file,)
        ):
            for row, length, count in _unpacked(first, block):
                wanted[word, 0] -= 1
                wanted[word, 1] -= row * count + row * row + length
    except (ValueError, LookupError):
        return True
    row = connection.execute("SELECT texts, length FROM vector_file WHERE file = ?", (file,)).fetchone()
    return any(wanted.values()) or row != (texts, total)


def _counted(text: str) -> tuple[Counter[str], int]:
    """How often each indexed word occurs, and the number of stems."""
    lines = text.split("\n") if text else []
    return Counter(lines), sum(" " not in line for line in lines) if " " in text else len(lines)


def _decoded(
    blocks: Iterable[tuple[int, int, bytes]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Word, row, length and count of the entries of some blocks, in the order of words.

    Blocks of one form are read at once.

    Parameters
    ----------
    blocks : number of the word, first row and bytes of each block
    """
    forms: defaultdict[int, list[tuple[int, int, bytes]]] = defaultdict(list)
    for block in blocks:
        forms[block[2][0]].append(block)
    columns: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = []
    for code, group in forms.items():
        form = _form(code)
        entries = np.frombuffer(b"".join([block[1:] for _, _, block in group]), dtype=form.dtype)
        sizes = [(len(block) - 1) // form.packing.size for _, _, block in group]
        terms, firsts = (
            np.repeat(np.array(numbers, dtype=np.int64), sizes) for numbers in list(zip(*group, strict=True))[:2]
        )
        rows = firsts + entries["row"] if form.row else firsts
        counts = entries["count"] + 1.0 if form.count else np.ones(len(entries))
        columns.append((terms, rows, entries["length"].astype(np.float64), counts))
    terms, rows, lengths, counts = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(terms.astype(np.uint16), kind="stable")
    return terms[order], rows[order], lengths[order], counts[order]


def _last_blocks(connection: sqlite3.Connection, file: int, wanted: list[str]) -> dict[str, tuple[int, bytes]]:
    rows = connection.execute(
        "SELECT w.value, p.first, p.entries FROM json_each(?2) AS w CROSS JOIN posting AS p ON p.file = ?1 AND p.word = w.value "
        "AND p.first = (SELECT max(first) FROM posting WHERE file = ?1 AND word = w.value)",
        (file, json.dumps(wanted)),
    )
    return {word: (first, block) for word, first, block in rows}


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
