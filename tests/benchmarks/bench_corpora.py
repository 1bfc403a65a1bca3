"""What a search on the servers takes beside many other corpora, against another tree of the code in the same run.

One corpus has some hundred passages; the others are a node each in Neo4j, with one source, and the aliases that an ingest
gives them in OpenSearch. Each tree asks in a process of its own; the two take turns, question by question. Run with
HLGRAPH_TEST_SERVERS naming the state folder of servers that are up; the database is emptied first.

    python tests/benchmarks/bench_corpora.py [--corpora 100 3000] [--against /path/to/another/clone] [--rounds 60]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from measure import say, table
from search_worker import settings_of

from hlgraph.chunk import WholeChunker
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.records import Document, Kind
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores
from hlgraph.stores.opensearch.indexes import Indexes
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Json
from hlgraph.testing.embedder import WordEmbedder

STRATEGIES = ("chunk", "auto", "path")
_ROOT = Path(__file__).resolve().parents[2]
_CORPUS = "benchmark"
_PEOPLE = ("Mara Quill", "Ivo Brandt", "Sela Orne", "Tobin Arkwright", "Emeric Vaude", "Jonas Querl")
_PLACES = ("Tessing", "Aldane", "Port Verrin", "Hallow Mere", "Wendlecote")
_DEEDS = ("designed the bridge of", "measured the harbour of", "wrote a history of", "was born in", "painted")
_PASSAGES = 300
_AT_ONCE = 500


def passage(at: int) -> str:
    """Four sentences about people, places and years."""
    return " ".join(
        f"{_PEOPLE[(at + step) % 6]} {_DEEDS[(at * 7 + step) % 5]} {_PLACES[(at * 3 + step * step) % 5]} "
        f"in {1700 + (at * 11 + step * 37) % 250}."
        for step in range(4)
    )


def question(at: int) -> str:
    return f"Who {_DEEDS[at % 5]} {_PLACES[at * 2 % 5]} in {1700 + at * 11 % 250}?"


class Tree:
    """A process that searches with the code of a folder."""

    def __init__(self, code: Path, prefix: str) -> None:
        python = code / ".venv" / "bin" / "python"
        command = (
            str(python if python.exists() else sys.executable),
            str(Path(__file__).with_name("search_worker.py")),
            prefix,
            _CORPUS,
        )
        self._process = subprocess.Popen(
            command,
            env=os.environ | {"PYTHONPATH": str(code)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, strategy: str, asked: str) -> tuple[float, list[str]]:
        """The seconds of a search, and the ids of what it found."""
        given, told = self._process.stdin, self._process.stdout
        if given is None or told is None:
            raise SystemExit("the process has no pipes")
        given.write(f"{strategy} {asked}\n")
        given.flush()
        line = told.readline()
        if not line:
            raise SystemExit(f"the process of a tree ended with {self._process.wait()}")
        seconds, found = json.loads(line)
        return seconds, found

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def filled(prefix: str) -> Iterator[Indexes]:
    """Both servers with the one corpus; the indexes go at the end."""

    settings = settings_of(prefix)
    server = Server(settings.store, settings.neo4j)
    server.schema(("MATCH (n) WHERE NOT n:Migration CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS",))
    server.close()
    opened = open_stores(settings)
    with opened.closing:
        documents = [Document(f"doc:{at}", passage(at), f"Title {at}", {"year": at % 40}) for at in range(_PASSAGES)]
        steps = pipeline.Steps(WholeChunker(), LocalExtractor(), WordEmbedder())
        pipeline.ingest(documents, _CORPUS, stores=opened.stores, steps=steps)
        vectors = opened.stores.vectors
        if not isinstance(vectors, OpenSearchVectorStore):
            raise SystemExit("the vector store is not OpenSearch")
        yield vectors.indexes
        for name in vectors.indexes.all():
            vectors.indexes.remove(name)


def add(indexes: Indexes, first: int, last: int, prefix: str) -> None:
    """The corpora with these numbers."""

    settings = settings_of(prefix)
    server = Server(settings.store, settings.neo4j)
    homes = [(kind, home) for kind in Kind if (home := indexes.find(_CORPUS, kind, is_fresh=True)) is not None]
    for start in range(first, last, _AT_ONCE):
        names = [f"other {at}" for at in range(start, min(start + _AT_ONCE, last))]
        server.driver().execute_query(
            "UNWIND $names AS name CREATE (:Corpus {name: name, version: 1, stamp: name, embedding: 'words', "
            "dimensions: 64}) CREATE (:Source {id: name, corpus: name, uri: name, title: name, metadata: '{}', "
            "metadata_keys: [], version: 1})",
            names=names,
            database_=settings.neo4j.database,
        )
        actions: list[Json] = [
            {"add": {"index": home.name, "alias": indexes.alias(name, kind), **indexes.view(name)}}
            for kind, home in homes
            for name in names
        ]
        indexes.act(*actions)
    server.close()


def measured(trees: Sequence[Tree], *, rounds: int) -> list[list[str]]:
    """Medians of each strategy in milliseconds, by tree, and the ratio of the first to the last."""
    rows = []
    for strategy in STRATEGIES:
        times: list[list[float]] = [[] for _ in trees]
        for at in range(-5, rounds):
            answers = [tree.ask(strategy, question(at)) for tree in (trees if at % 2 else trees[::-1])]
            answers = answers if at % 2 else answers[::-1]
            if any(found != answers[0][1] for _, found in answers):
                say(f"{strategy}: the trees differ on {question(at)!r}")
            for some, (seconds, _) in zip(times, answers, strict=True):
                some.append(seconds)
        medians = [statistics.median(some[5:]) * 1e3 for some in times]
        lowest = [min(some[5:]) * 1e3 for some in times]
        shown = [f"{median:.1f} ({low:.1f})" for median, low in zip(medians, lowest, strict=True)]
        rows.append([strategy, *shown, f"{medians[0] / medians[-1]:.2f}", f"{lowest[0] / lowest[-1]:.2f}"])
    return rows


def main() -> None:
    """The table of each number of corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=int, nargs="+", default=[100, 3_000], help="numbers of corpora, ascending")
    parser.add_argument("--against", type=Path, help="folder of another clone")
    parser.add_argument("--rounds", type=int, default=60, help="questions of each strategy")
    chosen = parser.parse_args()
    prefix = f"bench{os.getpid()}"
    codes = [_ROOT, *([chosen.against.resolve()] if chosen.against else [])]
    with filled(prefix) as indexes:
        before = 1
        for count in chosen.corpora:
            add(indexes, before, count, prefix)
            before = count
            trees = [Tree(code, prefix) for code in codes]
            rows = measured(trees, rounds=chosen.rounds)
            for tree in trees:
                tree.close()
            names = ["this tree", "the other"][: len(codes)]
            heads = [f"{name}: p50 (least), ms" for name in names]
            table([f"{count:,} corpora", *heads, "p50", "least"], rows)


if __name__ == "__main__":
    main()
