"""The images of the corpora of a Neo4j server: files in a cache folder of this machine, one image per corpus and state.

The state of a corpus is its version and the stamp of the change that made it, so that another database, or one that was
emptied, never gets the image of this one. A process fills a folder that no reader sees, compares the state before and
after, and renames the folder into place: readers see a complete image or none. All processes of a user map the same files.

The image of a later state is patched: each process applies the change lists since then to its image in memory, or to the files
(:mod:`hlgraph.stores.neo4j.image_changes`). A patched image is written to new files in the background if the patches are large
or the files are old. An image contains ids, which are hashes, and no text. Its files are removed after a newer image is written,
or after a deletion on this machine that no image of an earlier version can be patched with.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from hlgraph.errors import StoreClosedError, StoreError
from hlgraph.ids import content_id
from hlgraph.records import Kind, Record, Relationship
from hlgraph.stores import files
from hlgraph.stores import files as owned
from hlgraph.stores.batches import batched
from hlgraph.stores.cache import KeptRecords
from hlgraph.stores.closing import closed
from hlgraph.stores.image.arrays import NO_SOURCE, Links, Pairs, find, places
from hlgraph.stores.image.graph_files import GraphFiles, cut, log_level, mapped_file, pairs_of
from hlgraph.stores.image.image import FOLLOWED, SAID, Image, co_occurs, relates
from hlgraph.stores.image.patching import FAR, State, Step, is_heavy, patched
from hlgraph.stores.neo4j.image_changes import ReadSteps, state_of
from hlgraph.stores.neo4j.pull import Admitted
from hlgraph.stores.neo4j.rows import records
from hlgraph.stores.neo4j.server import BATCH, Row, Server
from hlgraph.stores.protocols import PullShape
from hlgraph.stores.trace import traced
from hlgraph.subgraph import KINDS, Csr, Subgraph

# Filling: one query per page of nodes of a kind, with their links as integers from element ids, which are valid in one fill only.
# RELATES and CO_OCCURS are counted here, by the same rules as on the server.


PAGE = 10_000
"""Maximum number of nodes of one query."""
SCANNED = tuple(item for item in Relationship if item in FOLLOWED - {Relationship.RELATES, Relationship.CO_OCCURS})
"""The relationships that the server sends."""
_LINK = np.dtype([("a", "<i8"), ("b", "<i8"), ("weight", "<f4")])


class _Scan:
    """The data received from the server: nodes in memory, links in files, by the integers of the server."""

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
        """Add a page of nodes of one kind.

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
        return cut(mapped_file(self._paths[Relationship(name)], _LINK))


class _Places:
    """Maps the integers of the server to positions of nodes in the image."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._order = np.argsort(numbers)
        self._numbers = numbers[self._order]

    def of(self, block: NDArray[np.void]) -> Pairs:
        """The links between these nodes as positions; links to other nodes are left out."""
        ends = [np.minimum(np.searchsorted(self._numbers, block[end]), len(self._numbers) - 1) for end in ("a", "b")]
        both = (self._numbers[ends[0]] == block["a"]) & (self._numbers[ends[1]] == block["b"])
        return self._order[ends[0][both]], self._order[ends[1][both]], block["weight"][both]


_SCANS: Mapping[Kind, str] = {
    Kind.SOURCE: "retrieve/scan_sources",
    Kind.CHUNK: "retrieve/scan_chunks",
    Kind.TOPIC: "retrieve/scan_topics",
    Kind.STATEMENT: "retrieve/scan_statements",
    Kind.FACT: "retrieve/scan_facts",
    Kind.ENTITY: "retrieve/scan_entities",
}


def fill(files: GraphFiles, server: Server, *, corpus: str, go_on: Callable[[], None]) -> None:
    """Write the nodes and all links of a corpus.

    A change by a writer in the meantime is not detected here: the caller compares the state before and after.

    Parameters
    ----------
    files : files to write; the caller holds their lock
    server : the database
    corpus : name of the corpus
    go_on : called after each page; it raises an error to end the fill

    Raises
    ------
    OSError
        The files cannot be written.
    ValueError
        The element ids of this server have an unknown form.
    """
    with contextlib.ExitStack() as closing:
        scan = _Scan(files.folder, closing)
        for kind in _SCANS:
            for row in _pages(server, kind, corpus=corpus):
                scan.add(kind, row)
                go_on()
        ids, kinds, numbers = scan.nodes()
        places = _Places(numbers)
        size = len(ids)
        for item in SCANNED:
            files.write_links(item, (places.of(block) for block in scan.links(item)), size=size)
    links: dict[str, Links] = {item: _links(files, item, size=size) for item in SCANNED}
    files.write("sources", [_sources(kinds, links[Relationship.FROM_SOURCE], in_chunk=links[Relationship.IN_CHUNK])])
    chunks, entities, _ = places.of(_given(scan.said, ids, numbers=numbers))
    files.write_links(SAID, pairs_of(_said(links, chunks, entities=entities)), size=size)
    files.write_links(Relationship.RELATES, pairs_of(relates(links, None)), size=size)
    said = {SAID: _links(files, SAID, size=size)}
    files.write_links(Relationship.CO_OCCURS, co_occurs(said, None), size=size)
    files.write("kinds", [kinds])
    files.write("ids", [ids])


def _pages(server: Server, kind: Kind, *, corpus: str) -> Iterator[Row]:
    after = ""
    while True:
        (row,) = server.ask(_SCANS[kind], corpus=corpus, after=after, size=PAGE)
        yield row
        ids = row["ids"]
        if not isinstance(ids, list) or len(ids) < PAGE:
            return
        after = max(ids)


def _links(files: GraphFiles, name: str, *, size: int) -> Links:
    links = files.links(name, size)
    if links is None:
        raise FileNotFoundError(files.folder / name)
    return links


def _sources(kinds: NDArray[np.uint8], from_source: Links, *, in_chunk: Links) -> NDArray[np.int32]:
    """The source of each node; topics and statements have the source of their chunks."""
    owners = np.full(len(kinds), NO_SOURCE, dtype=np.int32)
    sources = np.flatnonzero(kinds == KINDS.index(Kind.SOURCE))
    owners[sources] = sources
    for links in (from_source, in_chunk):
        way = links.there.plain()
        some = np.flatnonzero(np.diff(way.starts))
        ends = way.targets[way.starts[some]]
        owners[some] = ends if links is from_source else owners[ends]
    return owners


def _given(said: list[tuple[int, str]], ids: NDArray[np.bytes_], *, numbers: NDArray[np.int64]) -> NDArray[np.void]:
    """Links from chunks to entities, by the integers of the server; -1 for a removed chunk."""
    table = np.ones(len(said), dtype=_LINK)
    if said:
        at = find(ids, np.array([chunk.encode() for _, chunk in said], dtype="S32"))
        table["a"] = np.where(at < 0, -1, numbers[at])
        table["b"] = [entity for entity, _ in said]
    return table


def _said(links: Mapping[str, Links], chunks: NDArray[np.integer], *, entities: NDArray[np.integer]) -> Csr:
    """Links from chunks to the entities of their statements; pairs of statements in several chunks are parameters."""
    inside, mentions = links[Relationship.IN_CHUNK].there.plain(), links[Relationship.MENTIONS].there.plain()
    size = inside.size
    statement = np.repeat(np.arange(size), np.diff(mentions.starts))
    is_single = np.diff(inside.starts)[statement] == 1
    of_single = inside.targets[inside.starts[statement[is_single]]]
    ends = np.concatenate([of_single, chunks]), np.concatenate([mentions.targets[is_single], entities])
    matrix = sp.csr_array((np.ones(len(ends[0]), dtype=np.float32), ends), shape=(size, size))
    matrix.sum_duplicates()
    return matrix


LEAST_BEHIND = 1_000_000
"""Minimum number of links before an image is filled in the background while the server answers."""
_FORMAT = 1
_ATTEMPTS = 3
_WAIT = 60.0
"""Seconds to wait for another process that fills the same image."""
_SHORT = 2.0
"""Maximum seconds of a fill that may be repeated immediately after the next change."""
_REST = 9.0
"""After a longer fill, the server answers for this many times its duration before the next fill begins."""
_KEPT = 32
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedImage:
    """An image of a state of a corpus, the state of the files that it patches, and whether it should be written to new files."""

    image: Image
    state: State
    base: State
    is_to_be_folded: bool = False
    _sources: dict[Admitted, NDArray[np.int64]] = field(default_factory=dict)

    def sources(self, admitted: Admitted) -> NDArray[np.int64] | None:
        """The positions of the sources that a scope admits, ascending; None: all."""
        if not admitted.has_scope:
            return None
        nodes = self._sources.get(admitted)
        if nodes is None:
            listed = places(self.image.nodes, admitted.listed)
            nodes = listed if admitted.admits else self.image.sources_but(listed)
            if len(self._sources) >= _KEPT:
                self._sources.clear()
            self._sources[admitted] = nodes
        return nodes


class ScopedImage(NamedTuple):
    """An image, and the positions of the sources that a scope admits; None: all."""

    image: Image
    sources: NDArray[np.int64] | None

    def whole(self, shape: PullShape) -> Subgraph:
        """The subgraph of all nodes and edges of these kinds and relationships in the scope."""
        return self.image.whole(shape, sources=self.sources)


class Images:
    """The images of one database. Thread-safe.

    Parameters
    ----------
    server : the database
    folder : folder of all images of this user
    most : maximum number of links of a corpus; the server answers for a larger one
    waits : whether to wait for an image that is being filled, whatever its size; otherwise the server answers in the meantime

    Attributes
    ----------
    steps : reads the lists of changes that images are patched by
    """

    def __init__(self, server: Server, folder: Path, *, most: int, waits: bool = False) -> None:
        self.steps = ReadSteps(server)
        self._server = server
        self._folder = folder
        self._most = most
        self._waits = waits
        self._loaded: dict[str, LoadedImage] = {}
        self._why: dict[str, str] = {}
        self._refused: dict[str, State] = {}
        self._rest: dict[str, float] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._guard = threading.Lock()
        self._is_closed = threading.Event()

    def state(self, corpus: str) -> State | None:
        """The present state of a corpus; None if there is no such corpus."""
        for row in self._server.ask("retrieve/read_state", corpus=corpus):
            return state_of(row)
        return None

    def loaded(self, corpus: str, state: str = "", *, version: int = -1) -> LoadedImage | None:
        """The image of a state or a version, if it is in memory. Sends no query.

        Parameters
        ----------
        corpus : name of the corpus
        state : see :attr:`CorpusStats.state`; empty: no image is of it
        version : version of the corpus; used if no state is given
        """
        loaded = self._loaded.get(corpus)
        is_it = loaded is not None and (loaded.state.name == state if state else loaded.state.version == version)
        return loaded if is_it else None

    def current(self, corpus: str, known: str = "") -> LoadedImage | None:
        """The image of the present state of a corpus, filled if it does not exist; None if the server must answer.

        Parameters
        ----------
        corpus : name of the corpus
        known : the state that the caller has just read, see :attr:`CorpusStats.state`; its image is used even if the corpus has
            changed since. Empty: the state is read
        """
        known_state, newer = State.named(known), self._loaded.get(corpus)
        if known_state is not None and (newer is None or newer.state.version < known_state.version):
            with self._guard:
                loaded = self._known(corpus, known_state)
            if loaded is not None:
                return loaded
        for _ in range(_ATTEMPTS if self._waits else 1):
            state = self.state(corpus)
            if state is None:
                return None
            loaded = self._loaded.get(corpus)
            if loaded is not None and loaded.state == state:
                return loaded
            with self._guard:
                loaded = self._known(corpus, state) or self._made(corpus, state)
            if loaded is not None or self._refused.get(corpus) == state:
                return loaded
        return None

    def lag(self, corpus: str) -> tuple[int, int | None] | None:
        """The version of a corpus, and the version of its image on this machine or None; None if there is no such corpus."""
        state = self.state(corpus)
        if state is None:
            return None
        if self._path(corpus, state).is_dir():
            return state.version, state.version
        older = [int(path.name.split("-")[1]) for path in self._of(corpus).glob(f"{_FORMAT}-*")]
        return state.version, max(older, default=None)

    def why_not(self, corpus: str) -> str:
        """The reason why the server answered the last read instead of an image; empty if an image did, or for an unknown corpus."""
        return "" if corpus in self._loaded else self._why.get(corpus, "")

    def forget(self, corpus: str) -> None:
        """Remove the image files of a corpus from this machine, because they are no longer of use."""
        for path in self._of(corpus).glob(f"{_FORMAT}-*"):
            shutil.rmtree(path, ignore_errors=True)

    def close(self, *, wait: float | None = None) -> None:
        """Stop running fills; wait for each of them, for at most ``wait`` seconds if given."""
        self._is_closed.set()
        for thread in list(self._threads.values()):
            thread.join(wait)

    def _of(self, corpus: str) -> Path:
        server = self._server
        return self._folder / content_id(
            "image", server.url, server.settings.database, f"{server.settings.label_prefix}{corpus}"
        )

    def _known(self, corpus: str, state: State) -> LoadedImage | None:
        """The image of this state, from memory, from files, or patched; an image of another state is removed from memory."""
        loaded = self._loaded.pop(corpus, None)
        if loaded is None or loaded.state != state:
            loaded = (self._mapped(corpus, state) or self._patched(corpus, loaded, state)) if state.stamp else None
        if loaded is not None:
            self._allow(corpus)
            self._loaded[corpus] = loaded
        return loaded

    def _mapped(self, corpus: str, state: State) -> LoadedImage | None:
        image = GraphFiles(self._path(corpus, state)).image(state.version, mark=state)
        return None if image is None else LoadedImage(image, state, state)

    def _patched(self, corpus: str, loaded: LoadedImage | None, state: State) -> LoadedImage | None:
        """The image of this state, patched from the image in memory or in files; None if no change lists lead to it."""
        newer = [item for item in self._states(corpus) if loaded is None or item.version > loaded.base.version]
        for older in (
            dict[State, LoadedImage | None].fromkeys(newer),
            {} if loaded is None else {loaded.state: loaded},
        ):
            after = min((item.version for item in older), default=state.version)
            steps = self.steps.lead_to(corpus, after=after, to=state) if older else []
            for first in range(len(steps) - 1, -1, -1):
                before = steps[first].before
                base = (older[before] or self._mapped(corpus, before)) if before in older else None
                if base is not None:
                    return self._following(corpus, base, steps[first:])
        return None

    def _states(self, corpus: str) -> list[State]:
        """The states that have image files."""
        names = (path.name.split("-", 2) for path in self._of(corpus).glob(f"{_FORMAT}-*-*"))
        return [State(int(version), stamp) for _, version, stamp in names if version.isdecimal()]

    def _following(self, corpus: str, loaded: LoadedImage, steps: Sequence[Step]) -> LoadedImage:
        is_old = steps[-1].after.version - loaded.base.version > FAR
        image, is_to_be_folded = loaded.image, loaded.is_to_be_folded or is_old
        for step in steps:
            image = patched(image, step)
            is_to_be_folded = is_to_be_folded or is_heavy(image)
        result = LoadedImage(image, steps[-1].after, loaded.base, is_to_be_folded)
        thread = self._threads.get(corpus)
        if is_to_be_folded and (thread is None or not thread.is_alive()):
            self._threads[corpus] = threading.Thread(
                target=Context().run, args=(self._fold, corpus, result), daemon=True
            )
            self._threads[corpus].start()
        return result

    def _fold(self, corpus: str, loaded: LoadedImage) -> None:
        """Write a patched image to new files, from which later states are patched."""
        try:
            with self._writing(corpus, 0.0):
                if self._path(corpus, loaded.state).is_dir():  # another process has written it
                    return
                self._replace(
                    corpus,
                    loaded.state,
                    lambda graph_files: graph_files.write_image(loaded.image, hurry=self._is_closed),
                )
        except (OSError, Timeout) as error:
            _log.log(log_level(error), "the image of corpus %s was not written anew: %s", corpus, error)

    def _path(self, corpus: str, state: State) -> Path:
        return self._of(corpus) / f"{_FORMAT}-{state.version}-{state.stamp}"

    def _made(self, corpus: str, state: State) -> LoadedImage | None:
        """Fill the image; None if this is refused, or continues in the background."""
        if self._refused.get(corpus) == state:
            return None  # for this state, or it is being filled
        if not state.stamp:
            self._refuse(corpus, state, "the corpus has no image before its next change")
            return None
        if not self._waits and time.monotonic() < self._rest.get(corpus, 0.0):
            self._why[corpus] = "the corpus changed soon after its last image was filled"
            return None
        number = sum(row["number"] for row in self._server.ask("admin/count_relationships", corpus=corpus))
        if number > self._most:
            self._refuse(corpus, state, f"the corpus has over {self._most:,} links (neo4j.image_links)")
            return None
        if number < LEAST_BEHIND or self._waits:
            return self._fill(corpus, state)
        thread = threading.Thread(target=Context().run, args=(self._fill_behind, corpus, state), daemon=True)
        self._threads[corpus] = thread
        self._refuse(corpus, state, "the image of the corpus is being filled")
        thread.start()
        return None

    def _refuse(self, corpus: str, state: State, why: str) -> None:
        self._why[corpus], self._refused[corpus] = why, state

    def _allow(self, corpus: str) -> None:
        self._why.pop(corpus, None)
        self._refused.pop(corpus, None)

    def _fill_behind(self, corpus: str, state: State) -> None:
        try:
            self._write(corpus, state, wait=0.0)
        except StoreClosedError:
            return
        except (StoreError, OSError, Timeout, ValueError) as error:
            self._refuse(corpus, state, f"the image could not be filled: {error}")
            _log.warning("the image of corpus %s could not be filled: %s", corpus, error)
            return
        self._allow(corpus)  # the next read maps it, or sees that the corpus has changed

    def _fill(self, corpus: str, state: State) -> LoadedImage | None:
        with traced("image", "fill", text=f"the image of corpus {corpus!r}, filled from the server") as call:
            try:
                # The pages of a fill do not count as queries of a search.
                is_written = Context().run(self._write, corpus, state)
            except (OSError, Timeout, ValueError) as error:
                _log.warning("the image of corpus %s could not be written: %s", corpus, error)
                self._refuse(corpus, state, f"the image could not be written: {error}")
                return None
            loaded = self._known(corpus, state) if is_written else None
            call.rows = 0 if loaded is None else loaded.image.nodes.size
        if loaded is None:
            self._why[corpus] = "the corpus was changed while its image was filled"
        return loaded

    def _write(self, corpus: str, state: State, *, wait: float = _WAIT) -> bool:
        """Fill the files of a state; return False if the corpus changed meanwhile."""
        with self._writing(corpus, wait):
            if self._path(corpus, state).is_dir():
                return True
            start = time.monotonic()

            def write(graph_files: GraphFiles) -> bool:
                fill(graph_files, self._server, corpus=corpus, go_on=self._check)
                return self.state(corpus) == state

            is_written = self._replace(corpus, state, write)
            end = time.monotonic()
            self._rest[corpus] = end + _REST * (end - start) if end - start > _SHORT else 0.0
            return is_written

    def _replace(self, corpus: str, state: State, write: Callable[[GraphFiles], bool | None]) -> bool:
        """Write files, and remove those of other states; their readers keep their mappings."""
        unfinished = self._of(corpus) / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        graph_files = GraphFiles(unfinished)
        with graph_files.making():
            is_good = write(graph_files) is not False
        if not is_good:
            shutil.rmtree(unfinished, ignore_errors=True)
            return False
        for path in self._of(corpus).glob(f"{_FORMAT}-*"):
            shutil.rmtree(path, ignore_errors=True)
        unfinished.rename(self._path(corpus, state))
        return True

    @contextlib.contextmanager
    def _writing(self, corpus: str, wait: float) -> Iterator[None]:
        files.make_folder(self._of(corpus))
        with FileLock(str(self._of(corpus) / "filling.lock"), mode=files.FILE, timeout=wait):
            yield

    def _check(self) -> None:
        if self._is_closed.is_set():
            raise closed(self._server.url)


# Records by id, cached for the state of a corpus that readers request; see :class:`hlgraph.stores.cache.KeptRecords`.


_READS: Mapping[Kind, str] = {
    Kind.SOURCE: "retrieve/read_sources",
    Kind.CHUNK: "retrieve/read_chunks",
    Kind.TOPIC: "retrieve/read_topics",
    Kind.STATEMENT: "retrieve/read_statements",
    Kind.FACT: "retrieve/read_facts",
    Kind.ENTITY: "retrieve/read_entities",
}


class RecentRecords:
    """The records of one database by id. Thread-safe.

    Parameters
    ----------
    server : the database
    steps : reads the change lists
    """

    def __init__(self, server: Server, *, steps: ReadSteps) -> None:
        self._server = server
        self._steps = steps
        self._kept = KeptRecords[str](_READS, altered=self._altered, is_older=_is_older)

    def read(self, kind: Kind, ids: Sequence[str], *, corpus: str, state: str) -> list[Record]:
        """The visible records with these ids, in their order; unknown ids are left out.

        Parameters
        ----------
        kind : kind of the records
        ids : ids of the records
        corpus : name of the corpus
        state : state of the corpus that the caller reads; empty: ask the server for every record
        """
        wanted = list(dict.fromkeys(ids))
        records = self._kept.get(kind, wanted, corpus=corpus, state=state) if state else {}
        missing = [item for item in wanted if item not in records]
        for part in batched(missing, BATCH):
            records |= self._asked(kind, part, corpus=corpus, state=state)
        return [records[item] for item in wanted if item in records]

    def forget(self, vanished: Mapping[str, Sequence[str]]) -> None:
        """Drop records that vanished, by kind; see :meth:`hlgraph.stores.cache.KeptRecords.forget`."""
        self._kept.forget(itertools.chain(*vanished.values()))

    def _altered(self, corpus: str, before: str, to: str) -> frozenset[str] | None:
        a, b = State.named(before), State.named(to)
        return None if a is None or b is None else self._steps.touched(corpus, before=a, to=b)

    def _asked(self, kind: Kind, ids: Sequence[str], *, corpus: str, state: str) -> Mapping[str, Record]:
        is_passage = kind is Kind.CHUNK and bool(state)
        query = "retrieve/read_passages" if is_passage else _READS[kind]
        rows = self._server.ask(query, lists={"ids": ids}, corpus=corpus)  # a map: see pull.py
        by_id = records(kind, rows)
        if is_passage:
            sources = records(Kind.SOURCE, [{"records": row["sources"]} for row in rows])
            self._keep(Kind.SOURCE, sources, corpus=corpus, state=state)
        self._keep(kind, by_id, corpus=corpus, state=state)
        return by_id

    def _keep(self, kind: Kind, records: Mapping[str, Record], *, corpus: str, state: str) -> None:
        if state:
            self._kept.keep(kind, records, corpus=corpus, state=state)


def _is_older(state: str, other: str) -> bool:
    a, b = State.named(state), State.named(other)
    return a is not None and b is not None and a.version < b.version
