"""The images of the corpora of a Neo4j server: files in a cache folder of this machine, one image a corpus and state.

The state of a corpus is its version and the mark of the change that made it, so that another database, or one that was
emptied, never gets the image of this one. A process fills a folder that no reader looks at, compares the state before and
after, and renames the folder into place: readers see an image whole or not at all. All processes of a user map the same files.
An image holds ids, which are hashes, and no text. It is removed when this machine publishes a change, or makes a newer image.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from hlgraph.errors import StoreClosedError, StoreError
from hlgraph.ids import content_id
from hlgraph.stores import files
from hlgraph.stores.image.graph_files import GraphFiles
from hlgraph.stores.image.image import Image
from hlgraph.stores.neo4j.admitted import Admitted
from hlgraph.stores.neo4j.filling import fill
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import PullShape, Scope
from hlgraph.stores.trace import traced
from hlgraph.subgraph import Subgraph

LEAST_BEHIND = 1_000_000
"""Minimum number of links before an image is filled in a thread of its own while the server answers."""
_FORMAT = 1
_ATTEMPTS = 3
_WAIT = 60.0
"""Seconds to wait for another process that fills the same image."""
_SHORT = 2.0
"""Longest time in seconds of a fill that may be repeated at once, after the next change."""
_REST = 9.0
"""For so many times the seconds of a longer fill, the server answers before the next one begins."""
_KEPT = 32
_log = logging.getLogger(__name__)


class State(NamedTuple):
    """The state of a corpus; ``stamp`` is empty where a hlgraph without images wrote it last."""

    version: int
    stamp: str


@dataclass(frozen=True, slots=True)
class HeldImage:
    """An image, and the state of the corpus that it is of."""

    image: Image
    state: State
    _sources: dict[Admitted, NDArray[np.int64]] = field(default_factory=dict)

    def sources(self, admitted: Admitted) -> NDArray[np.int64] | None:
        """The nodes of the sources that a scope admits, ascending; None: all."""
        if not admitted.has_scope:
            return None
        found = self._sources.get(admitted)
        if found is None:
            listed = self.image.nodes.at(admitted.listed)
            found = listed if admitted.admits else self.image.sources_but(listed)
            if len(self._sources) >= _KEPT:
                self._sources.clear()
            self._sources[admitted] = found
        return found


class ScopedImage(NamedTuple):
    """An image and the sources that a scope admits: a :class:`hlgraph.stores.image.ranker.WholeGraph` of one corpus."""

    image: Image
    sources: NDArray[np.int64] | None

    def version(self, corpus: str) -> int:  # noqa: ARG002
        """The version of the corpus."""
        return self.image.version

    def links(self, shape: PullShape, *, scope: Scope) -> int:  # noqa: ARG002
        """See :meth:`WholeGraph.links`."""
        return self.image.count(shape.relationships)

    def whole(self, shape: PullShape, *, scope: Scope) -> Subgraph:  # noqa: ARG002
        """See :meth:`WholeGraph.whole`."""
        return self.image.whole(shape, sources=self.sources)


class Images:
    """The images of one database. Thread-safe.

    Parameters
    ----------
    server : the database
    folder : folder of all images of this user
    most : maximum number of links of a corpus; the server answers for a larger one
    waits : whether to wait for an image that is being filled, however large; else the server answers meanwhile
    """

    def __init__(self, server: Server, folder: Path, *, most: int, waits: bool = False) -> None:
        self._server = server
        self._folder = folder
        self._most = most
        self._waits = waits
        self._held: dict[str, HeldImage] = {}
        self._why: dict[str, str] = {}
        self._refused: dict[str, State] = {}
        self._rest: dict[str, float] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._guard = threading.Lock()
        self._is_closed = threading.Event()

    def state(self, corpus: str) -> State | None:
        """The present state of a corpus; None if there is no such corpus."""
        for row in self._server.ask("retrieve/read_state", corpus=corpus):
            return State(whole(row, "version"), str(row["stamp"] or ""))
        return None

    def current(self, corpus: str) -> HeldImage | None:
        """The image of the present state of a corpus, filled if it is not there; None where the server must answer."""
        for _ in range(_ATTEMPTS if self._waits else 1):
            state = self.state(corpus)
            if state is None:
                return None
            held = self._held.get(corpus)
            if held is not None and held.state == state:
                return held
            with self._guard:
                held = self._known(corpus, state) or self._made(corpus, state)
            if held is not None or self._refused.get(corpus) == state:
                return held
        return None

    def why_not(self, corpus: str) -> str:
        """The reason why the server answered the last time; empty if it did not, or if there is no such corpus."""
        return "" if corpus in self._held else self._why.get(corpus, "")

    def forget(self, corpus: str) -> None:
        """Removes the images of a corpus from this machine, because a change to it is about to be visible."""
        self._held.pop(corpus, None)
        for path in self._of(corpus).glob(f"{_FORMAT}-*"):
            shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Ends fills that are running."""
        self._is_closed.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _of(self, corpus: str) -> Path:
        server = self._server
        return self._folder / content_id("image", server.url, server.settings.database, corpus)

    def _known(self, corpus: str, state: State) -> HeldImage | None:
        """The image of this state in memory or in files; removed from memory where it is of another state."""
        held = self._held.get(corpus)
        if held is not None and held.state == state:
            return held
        self._held.pop(corpus, None)
        if not state.stamp:
            return None
        image = GraphFiles(self._path(corpus, state)).image(state.version)
        if image is None:
            return None
        self._allow(corpus)
        self._held[corpus] = HeldImage(image, state)
        return self._held[corpus]

    def _path(self, corpus: str, state: State) -> Path:
        return self._of(corpus) / f"{_FORMAT}-{state.version}-{state.stamp}"

    def _made(self, corpus: str, state: State) -> HeldImage | None:
        """The image, filled now; None where that is refused, or goes on in a thread of its own."""
        if self._refused.get(corpus) == state:
            return None  # for this state, or it is being filled
        if not state.stamp:
            self._refuse(corpus, state, "the corpus has no image before its next change")
            return None
        if not self._waits and time.monotonic() < self._rest.get(corpus, 0.0):
            self._why[corpus] = "the corpus changed soon after its last image was filled"
            return None
        number = sum(whole(row, "number") for row in self._server.ask("admin/count_relationships", corpus=corpus))
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

    def _fill(self, corpus: str, state: State) -> HeldImage | None:
        with traced("image", "fill", text=f"the image of corpus {corpus!r}, filled from the server") as call:
            try:
                # Pages are not part of what a search asks the server for.
                is_written = Context().run(self._write, corpus, state)
            except (OSError, Timeout, ValueError) as error:
                _log.warning("the image of corpus %s could not be written: %s", corpus, error)
                self._refuse(corpus, state, f"the image could not be written: {error}")
                return None
            held = self._known(corpus, state) if is_written else None
            call.rows = 0 if held is None else len(held.image.nodes.ids)
        if held is None:
            self._why[corpus] = "the corpus was changed while its image was filled"
        return held

    def _write(self, corpus: str, state: State, *, wait: float = _WAIT) -> bool:
        """Fills the files of a state; returns whether the state is still the present one, and they are there."""
        with self._writing(corpus, wait):
            if self._path(corpus, state).is_dir():
                return True
            unfinished = self._of(corpus) / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            made = GraphFiles(unfinished)
            start = time.monotonic()
            with made.making():
                fill(made, self._server, corpus=corpus, go_on=self._check)
            end = time.monotonic()
            self._rest[corpus] = end + _REST * (end - start) if end - start > _SHORT else 0.0
            if self.state(corpus) != state:
                shutil.rmtree(unfinished, ignore_errors=True)
                return False
            for path in self._of(corpus).glob(f"{_FORMAT}-*"):
                shutil.rmtree(
                    path, ignore_errors=True
                )  # readers of an older image keep the pages that they have mapped
            unfinished.rename(self._path(corpus, state))
            return True

    @contextlib.contextmanager
    def _writing(self, corpus: str, wait: float) -> Iterator[None]:
        files.make_folder(self._of(corpus))
        with FileLock(str(self._of(corpus) / "filling.lock"), mode=files.FILE, timeout=wait):
            yield

    def _check(self) -> None:
        if self._is_closed.is_set():
            raise StoreClosedError(f"{self._server.url}: the store was closed; open it again")
