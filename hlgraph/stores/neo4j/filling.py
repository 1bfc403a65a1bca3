"""Fills the files of an image from a Neo4j server: a page of one kind a query, its links as lists of integers.

The integers are those of the element ids, and mean something only inside one fill. Of the derived relationships the server
sends SYNONYM; RELATES and CO_OCCURS are counted here, by the rules by which it keeps them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship
from hlgraph.stores import files as owned
from hlgraph.stores.image.counted import SAID, co_occurs, relates
from hlgraph.stores.image.graph_files import GraphFiles
from hlgraph.stores.image.links import BLOCK, Links, Pairs
from hlgraph.stores.image.mapped import mapped_file
from hlgraph.stores.image.nodes import NO_SOURCE
from hlgraph.stores.neo4j.rows import PLURAL
from hlgraph.stores.neo4j.server import Row, Server
from hlgraph.subgraph import KINDS, Csr

PAGE = 10_000
"""Maximum number of nodes of one query."""
SCANNED = (
    Relationship.FROM_SOURCE,
    Relationship.NEXT,
    Relationship.IN_CHUNK,
    Relationship.ABOUT,
    Relationship.SUPPORTS,
    Relationship.SUBJECT,
    Relationship.OBJECT,
    Relationship.MENTIONS,
    Relationship.SYNONYM,
    Relationship.SAME_AS,
)
"""The relationships that the server sends."""
_LINK = np.dtype([("a", "<i8"), ("b", "<i8"), ("weight", "<f4")])


class _Scan:
    """Everything that the server sent: nodes in memory, links in files, by the integers of the server."""

    def __init__(self, folder: Path, closing: contextlib.ExitStack) -> None:
        self._ids: list[NDArray[np.bytes_]] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._kinds: list[NDArray[np.uint8]] = []
        self._paths = {item: folder / f"{item}.scan.loose" for item in SCANNED}
        self._files: dict[str, IO[bytes]] = {
            item: closing.enter_context(owned.write_bytes(path)) for item, path in self._paths.items()
        }
        self.said: list[tuple[int, str]] = []  # of statements in several chunks: the entity, and the id of the chunk

    def add(self, kind: Kind, row: Mapping[str, Any]) -> None:
        """Takes a page of one kind.

        Parameters
        ----------
        kind : kind of its nodes
        row : its columns
        """
        if None in row["numbers"]:
            raise ValueError("the element ids of this server hold no integers")
        numbers = np.array(row["numbers"], dtype=np.int64)
        self._ids.append(np.array([name.encode() for name in row["ids"]], dtype="S32"))
        self._numbers.append(numbers)
        self._kinds.append(np.full(len(numbers), KINDS.index(kind), dtype=np.uint8))
        for name in row.keys() & self._files.keys():
            ends = list(chain.from_iterable(row[name]))
            table = np.ones(len(ends), dtype=_LINK)
            table["a"] = np.repeat(numbers, [len(some) for some in row[name]])
            if name == Relationship.SYNONYM:
                table["weight"] = [weight for _, weight in ends]
                ends = [end for end, _ in ends]
            table["b"] = ends
            self._files[name].write(table.tobytes())
        self.said += [(entity, chunk) for entity, chunk in chain.from_iterable(row.get(SAID, ()))]

    def nodes(self) -> tuple[NDArray[np.bytes_], NDArray[np.uint8], NDArray[np.int64]]:
        """Ids, kinds and the integers of the server, by ascending id."""
        for file in self._files.values():
            file.flush()
        ids = np.concatenate(self._ids)
        order = np.argsort(ids)
        return ids[order], np.concatenate(self._kinds)[order], np.concatenate(self._numbers)[order]

    def links(self, name: str) -> Iterator[NDArray[np.void]]:
        """The links of a relationship, in blocks."""
        table = mapped_file(self._paths[Relationship(name)], _LINK)
        for first in range(0, len(table), BLOCK):
            yield table[first : first + BLOCK]


class _Places:
    """The places of nodes by the integers of the server."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._order = np.argsort(numbers)
        self._numbers = numbers[self._order]

    def of(self, block: NDArray[np.void]) -> Pairs:
        """Links between places; links to other nodes are left out."""
        ends = [np.minimum(np.searchsorted(self._numbers, block[end]), len(self._numbers) - 1) for end in ("a", "b")]
        both = (self._numbers[ends[0]] == block["a"]) & (self._numbers[ends[1]] == block["b"])
        return self._order[ends[0][both]], self._order[ends[1][both]], block["weight"][both]


def fill(files: GraphFiles, server: Server, *, corpus: str, go_on: Callable[[], None]) -> None:
    """Writes the nodes and all links of a corpus.

    Nothing tells here whether a writer changed the corpus meanwhile: the caller compares its state before and after.

    Parameters
    ----------
    files : files to write; the caller holds the right to
    server : the database
    corpus : name of the corpus
    go_on : called after each page; it raises an error to end the fill

    Raises
    ------
    OSError
        The files cannot be written.
    ValueError
        The element ids of this server are of a form that is not known here.
    """
    with contextlib.ExitStack() as closing:
        scan = _Scan(files.folder, closing)
        for kind in PLURAL:
            for row in _pages(server, kind, corpus=corpus):
                scan.add(kind, row)
                go_on()
        ids, kinds, numbers = scan.nodes()
        places = _Places(numbers)
        size = len(ids)
        for item in SCANNED:
            files.write_links(item, (places.of(block) for block in scan.links(item)), size=size)
    links: dict[str, Links] = {item: _held(files, item, size=size) for item in SCANNED}
    files.write("sources", [_sources(kinds, links[Relationship.FROM_SOURCE], in_chunk=links[Relationship.IN_CHUNK])])
    chunks, entities, _ = places.of(_given(scan.said, ids, numbers=numbers))
    files.write_links(SAID, _blocks(_said(links, chunks, entities=entities)), size=size)
    files.write_links(Relationship.RELATES, _blocks(relates(links, None)), size=size)
    said = {SAID: _held(files, SAID, size=size)}
    files.write_links(Relationship.CO_OCCURS, co_occurs(said, None), size=size)
    files.write("kinds", [kinds])
    files.write("ids", [ids])


def _pages(server: Server, kind: Kind, *, corpus: str) -> Iterator[Row]:
    after = ""
    while True:
        (row,) = server.ask(f"retrieve/scan_{PLURAL[kind]}", corpus=corpus, after=after, size=PAGE)
        yield row
        ids = row["ids"]
        if not isinstance(ids, list) or len(ids) < PAGE:
            return
        after = max(ids)


def _held(files: GraphFiles, name: str, *, size: int) -> Links:
    found = files.links(name, size)
    if found is None:
        raise FileNotFoundError(files.folder / name)
    return found


def _sources(kinds: NDArray[np.uint8], from_source: Links, *, in_chunk: Links) -> NDArray[np.int32]:
    """The source of each node: of a chunk its own, of a topic and a statement that of its chunks."""
    found = np.full(len(kinds), NO_SOURCE, dtype=np.int32)
    sources = np.flatnonzero(kinds == KINDS.index(Kind.SOURCE))
    found[sources] = sources
    for links in (from_source, in_chunk):
        way = links.there.plain()
        some = np.flatnonzero(np.diff(way.starts))
        ends = way.targets[way.starts[some]]
        found[some] = ends if links is from_source else found[ends]
    return found


def _given(said: list[tuple[int, str]], ids: NDArray[np.bytes_], *, numbers: NDArray[np.int64]) -> NDArray[np.void]:
    """From chunks to entities, by the integers of the server; -1 for a chunk that is not there any more."""
    table = np.ones(len(said), dtype=_LINK)
    if said:
        wanted = np.array([chunk.encode() for _, chunk in said], dtype="S32")
        at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        table["a"] = np.where(ids[at] == wanted, numbers[at], -1)
        table["b"] = [entity for entity, _ in said]
    return table


def _said(links: Mapping[str, Links], chunks: NDArray[np.integer], *, entities: NDArray[np.integer]) -> Csr:
    """From chunks to the entities that their statements mention: those of statements in one chunk, and the others as given."""
    inside, mentions = links[Relationship.IN_CHUNK].there.plain(), links[Relationship.MENTIONS].there.plain()
    size = inside.size
    statement = np.repeat(np.arange(size), np.diff(mentions.starts))
    is_single = np.diff(inside.starts)[statement] == 1
    of_single = inside.targets[inside.starts[statement[is_single]]]
    ends = np.concatenate([of_single, chunks]), np.concatenate([mentions.targets[is_single], entities])
    found = sp.csr_array((np.ones(len(ends[0]), dtype=np.float32), ends), shape=(size, size))
    found.sum_duplicates()
    return found


def _blocks(matrix: Csr) -> Iterator[Pairs]:
    found = sp.coo_array(matrix)
    for first in range(0, len(found.data), BLOCK):
        part = slice(first, first + BLOCK)
        yield found.row[part], found.col[part], found.data[part]
