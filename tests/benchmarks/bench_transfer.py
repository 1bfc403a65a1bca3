"""Export and import of a made-up corpus beside a bare ingest of the same records with known vectors: seconds and peak memory.

The ingest has its extractions and vectors at hand, so what it costs is chunking, ids, synonyms, calibration and writing. Each
step runs in a process of its own, and once more with four times the corpus, for the growth of its memory. With
`HLGRAPH_TEST_SERVERS=FOLDER` the servers of that state folder are measured too; Neo4j is emptied before each.

    PYTHONPATH=tests/support:docker/local python tests/benchmarks/bench_transfer.py [--statements 5000] [--rounds 2]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from live_stores import empty, neo4j_of
from measure import table
from numpy.typing import NDArray
from opensearch_fixture import opened as opened_vectors
from opensearch_fixture import settings_of

from hlgraph.chunk import WholeChunker
from hlgraph.evaluate.bench import MadeUpCorpus, MadeUpExtractor
from hlgraph.ingest import pipeline
from hlgraph.ingest.exports import export_corpus
from hlgraph.ingest.imports import import_corpus
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import SeededEmbedder
from local_servers import state

_CORPUS = "made-up"


class KnownVectors(SeededEmbedder):
    """Vectors of texts that were embedded before, by text."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, super().embed(new), strict=True))
        return np.stack([self.known[text] for text in texts])


def _ingest(settings: Settings, statements: int, embedder: KnownVectors) -> None:
    corpus = MadeUpCorpus(statements)
    steps = pipeline.Steps(WholeChunker(), MadeUpExtractor(corpus), embedder)
    opened = open_stores(settings)
    with opened.closing:
        pipeline.ingest(corpus.documents(), _CORPUS, stores=opened.stores, steps=steps)


def ingest(settings: Settings, statements: int, folder: Path) -> float:
    """Seconds of an ingest whose vectors are known: the one before it, into another store, computed them."""
    embedder = KnownVectors()
    _ingest(Settings(store=f"hlgraph://{folder}/warm"), statements, embedder)
    start = time.monotonic()
    _ingest(settings, statements, embedder)
    return time.monotonic() - start


def export(settings: Settings, _: int, folder: Path) -> float:
    """Seconds of an export."""
    opened = open_stores(settings)
    with opened.closing:
        start = time.monotonic()
        export_corpus(opened.stores, _CORPUS, folder=folder / "export")
        return time.monotonic() - start


def imported(settings: Settings, _: int, folder: Path) -> float:
    """Seconds of an import; as before the ingest, one into another store comes first."""
    seconds = 0.0
    for each in (Settings(store=f"hlgraph://{folder}/first"), settings):
        opened = open_stores(each)
        with opened.closing:
            start = time.monotonic()
            import_corpus(opened.stores, _CORPUS, folder=folder / "export")
            seconds = time.monotonic() - start
    return seconds


def _measured(
    work: Callable[[Settings, int, Path], float], settings: Settings, statements: int, folder: Path
) -> tuple[float, int]:
    """Seconds of a step, and by how much it raised the peak of the memory that its process has for itself, MiB."""
    sizes = [_own_memory()]
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            sizes.append(_own_memory())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        return work(settings, statements, folder), max(sizes) - sizes[0]
    finally:
        is_over.set()
        watching.join()


def _own_memory() -> int:
    """What the process has in memory beside mapped files, which the system drops when it needs memory, MiB."""
    return int(re.findall(r"^RssAnon:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[0]) >> 10


def run(
    work: Callable[[Settings, int, Path], float], settings: Settings, statements: int, folder: Path
) -> tuple[float, int]:
    """A step in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, settings, statements, folder))


def _stores(folder: Path) -> dict[str, tuple[Settings, Settings, Callable[[], None]]]:
    """By name: the store to ingest into and export from, the one to import into, and what empties the latter."""
    one, other = (Settings(store=f"hlgraph://{folder}/{name}", corpus=_CORPUS) for name in ("one", "other"))
    chosen: dict[str, tuple[Settings, Settings, Callable[[], None]]] = {"embedded": (one, other, lambda: None)}
    given = os.environ.get("HLGRAPH_TEST_SERVERS")
    if given:
        servers: Any = state.read(Path(given))
        holder = argparse.Namespace(neo4j=servers.neo4j, opensearch=servers.opensearch, folder=Path(given))
        login = {"neo4j": neo4j_of(holder), "opensearch": settings_of(servers.opensearch)}
        live = replace(one, store=servers.neo4j.url, vectors=servers.opensearch.url, **login)

        def clear() -> None:
            with opened_vectors(servers.opensearch, prefix=live.opensearch.prefix):
                pass
            empty(holder)

        clear()
        chosen["servers"] = (live, live, clear)
    return chosen


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=2, help="the fastest of so many is shown")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for store, (source, target, clear) in _stores(Path(name)).items():
            figures: dict[tuple[str, int], tuple[float, int]] = {}
            sizes = (given.statements, 4 * given.statements)
            for at, size in enumerate((*sizes[:1] * given.rounds, sizes[1])):
                folder = Path(name) / f"{store}-{at}"
                folder.mkdir()
                for step, work, settings, after in (
                    ("ingest", ingest, source, lambda: None),
                    ("export", export, source, clear),
                    ("import", imported, target, clear),
                ):
                    figure = run(work, settings, size, folder)
                    figures[step, size] = min(figure, figures.get((step, size), figure))
                    after()
                for path in folder.parent.glob("o*"):  # the embedded stores
                    shutil.rmtree(path)
            rows += [
                (store, step, f"{size:,}", f"{seconds:.2f}", f"{figures['ingest', size][0] / seconds:.1f}", f"{memory}")
                for (step, size), (seconds, memory) in figures.items()
            ]
    table(("store", "step", "statements", "seconds", "times as fast as the ingest", "MiB more at the peak"), rows)


if __name__ == "__main__":
    main()
