"""Another embedding model for a corpus of many names: seconds of each step, and by how much it raises the peak memory of a process.

    PYTHONPATH=tests/support python tests/benchmarks/bench_switch.py [NAMES ...]

By default 25,000 and 100,000 names, ten in each statement, with vectors of 384 numbers by a test embedder. A thread searches during
each step.
"""

from __future__ import annotations

import multiprocessing
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from measure import table

import hlgraph
from hlgraph.chunk import WholeChunker
from hlgraph.evaluate.bench import _name
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import checksum
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Extraction, Mention, Proposition
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import SeededEmbedder

_EACH, _STATEMENTS = 10, 10


class NamesExtractor:
    """Statements that list names."""

    fingerprint = "names"
    problems = ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One statement for each line."""
        return [Extraction(tuple(_propositions(chunk.text)), ("names",)) for chunk in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A fingerprint of the text."""
        return checksum(self.fingerprint, chunk.text)


def _propositions(text: str) -> Iterator[Proposition]:
    start = 0
    for line in text.split("\n"):
        mentions = tuple(Mention(name) for name in line.removesuffix(".").removeprefix("Listed: ").split(", "))
        yield Proposition(line, start, start + len(line), ("names",), mentions, ())
        start += len(line) + 1


def documents(names: int) -> Iterator[Document]:
    """Sources of ten statements of ten new names each."""
    for number in range(names // (_EACH * _STATEMENTS)):
        firsts = range(number * _EACH * _STATEMENTS, (number + 1) * _EACH * _STATEMENTS, _EACH)
        lines = (f"Listed: {', '.join(map(_name, range(first, first + _EACH)))}." for first in firsts)
        yield Document(f"doc:{number}", "\n".join(lines))


def ingest(url: str, names: int) -> None:
    """Fill the corpus."""
    opened = open_stores(hlgraph.Settings(store=url))
    with opened.closing:
        steps = pipeline.Steps(WholeChunker(), NamesExtractor(), SeededEmbedder())
        pipeline.ingest(documents(names), "default", stores=opened.stores, steps=steps)


def status(field: str) -> int:
    """A field of the status of this process, MiB."""
    return int(re.findall(rf"^{field}:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[0]) >> 10


def steps(url: str, names: int) -> Iterator[tuple[str, ...]]:
    """A row for each step."""
    other = SeededEmbedder(seed=1)
    with hlgraph.connect(url, embedder=SeededEmbedder()) as graph:
        works: dict[str, Callable[[], object]] = {
            "build": lambda: graph.embeddings.build(other),
            **{name: getattr(graph.embeddings, name) for name in ("verify", "switch", "rollback", "drop")},
        }
        graph.search("Who?", strategy="statement")
        for name, work in works.items():
            took: list[float] = []
            is_over = threading.Event()

            def ask(took: list[float] = took, is_over: threading.Event = is_over) -> None:
                while not is_over.is_set():
                    start = time.monotonic()
                    assert graph.search(f"Who is {_name(len(took))}?", strategy="statement").evidence
                    took.append(time.monotonic() - start)

            Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
            before = status("VmRSS")
            searching = threading.Thread(target=ask)
            searching.start()
            start = time.monotonic()
            work()
            seconds = time.monotonic() - start
            is_over.set()
            searching.join()
            memory = status("VmHWM") - before
            yield f"{names:,}", name, f"{seconds:.1f}", f"{memory}", f"{len(took)}", f"{max(took):.2f}"


def main() -> None:
    rows = []
    for names in map(int, sys.argv[1:] or ("25000", "100000")):
        with tempfile.TemporaryDirectory() as folder:
            url = f"hlgraph://{Path(folder)}/store"
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.apply(ingest, (url, names))
            rows.extend(steps(url, names))
    table(("names", "step", "seconds", "MiB more at the peak", "searches", "longest, s"), rows)


if __name__ == "__main__":
    main()
