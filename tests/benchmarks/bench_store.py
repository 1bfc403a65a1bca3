"""The embedded store on made-up data, beside what plain numpy and plain SQLite need for the same.

Vector search against one product and a partition over an array in memory; publishing against `executemany` of the same rows
into tables without any index; full-text search, pulls and records by id by themselves.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from made_up_graph import CORPUS, DIMENSIONS, MadeUpGraph
from measure import medians, megabytes_on_disk, memory_line, say, seconds_of, table
from numpy.typing import NDArray

from hlgraph.change import Change, ChangeState
from hlgraph.records import Kind, Relationship
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, Scope, Stores, VectorBatch, VectorQuery

RUNS = 30
K = 100
_SHAPE = PullShape(
    frozenset({Relationship.MENTIONS, Relationship.IN_CHUNK}),
    frozenset({Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK}),
    hops=2,
)


class Row(NamedTuple):
    """One line of the report: milliseconds here, and of the plain way where there is one."""

    name: str
    milliseconds: float
    plain: float | None = None

    def cells(self) -> tuple[str, ...]:
        """As text, with the ratio."""
        if self.plain is None:
            return (self.name, f"{self.milliseconds:.2f}", "", "")
        return (self.name, f"{self.milliseconds:.2f}", f"{self.plain:.2f}", f"{self.milliseconds / self.plain:.2f}")


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Stores]:
    """The embedded store of a folder."""
    found = open_stores(f"hlgraph://{folder}")
    with found.closing:
        yield found.stores


def rows_of(change: Change) -> list[list[tuple[object, ...]]]:
    """What a change puts into the graph, as plain rows, table by table."""
    records: tuple[list[tuple[object, ...]], ...] = (
        [(s.id, s.uri, s.title, s.checksum, s.version) for s in change.sources],
        [(c.id, c.source_id, c.text, c.start, c.end, c.position, c.tokens) for c in change.chunks],
        [(t.id, t.source_id, t.name) for t in change.topics],
        [(s.id, s.source_id, s.text) for s in change.statements],
        [(item,) for item in change.entities],
    )
    links: tuple[Sequence[tuple[object, ...]], ...] = (
        change.facts,
        change.placements,
        change.abouts,
        change.mentions,
        change.supports,
    )
    return [*records, *([tuple(map(_plain, link)) for link in each] for each in links)]


def _plain(value: object) -> object:
    """As a column takes it: lists are JSON there."""
    return json.dumps(value) if isinstance(value, tuple) else value


class PlainTables:
    """Tables without keys and indices, written with the settings of the store."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "plain.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = FULL")

    def write(self, tables: list[list[tuple[object, ...]]]) -> None:
        """All rows in one transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        for number, rows in enumerate(tables):
            columns = ", ".join(f"c{at}" for at in range(len(rows[0])))
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS t{number} ({columns})")
            self._connection.executemany(f"INSERT INTO t{number} VALUES ({', '.join('?' * len(rows[0]))})", rows)  # noqa: S608 - names made here
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def show_writing(made: MadeUpGraph, folder: Path) -> None:
    """Write the corpus, step by step, and the same rows plainly."""
    seconds = dict.fromkeys(("stage", "vectors and text", "publish", "done"), 0.0)
    plain_seconds, rows, vectors = 0.0, 0, 0
    plain = PlainTables(folder)
    with opened(folder / "store") as stores, stores.graph.lock():
        for change in made.changes():
            batch = VectorBatch(CORPUS, change.id, change.sources, change.vectors)
            steps: tuple[Callable[[], object], ...] = (
                partial(stores.graph.stage, change),
                partial(stores.vectors.upsert, batch),
                partial(stores.graph.advance, change.id, ChangeState.PUBLISHED),
                partial(stores.graph.advance, change.id, ChangeState.DONE),
            )
            for name, step in zip(seconds, steps, strict=True):
                seconds[name] += seconds_of(step)
            tables = rows_of(change)
            rows += sum(len(each) for each in tables)
            vectors += sum(len(block.ids) for block in change.vectors)
            plain_seconds += seconds_of(partial(plain.write, tables))
    plain.close()
    ratio = seconds["publish"] / plain_seconds
    counts = {"vectors and text": vectors, "done": 0}
    lines = [(name, value, counts.get(name, rows)) for name, value in seconds.items()]
    lines.append(("plain executemany", plain_seconds, rows))
    table(
        (f"writing {rows:,} rows of the graph, {vectors:,} vectors", "seconds", "rows/s"),
        [(name, f"{value:.1f}", f"{count / value:,.0f}" if count else "") for name, value, count in lines],
    )
    say(
        f"publish takes {ratio:.1f} times plain executemany, all steps {sum(seconds.values()) / plain_seconds:.1f} times"
    )
    sizes = megabytes_on_disk(folder / "store")
    say(f"on disk: {', '.join(f'{name} {size:,.0f} MB' for name, size in sizes.items() if size >= 1)}\n")


def best_plainly(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.intp]:
    """The k best rows by one product."""
    scores = matrix @ vector
    best = np.argpartition(scores, -K)[-K:]
    return best[np.argsort(-scores[best])]


def reading(made: MadeUpGraph, folder: Path) -> Iterator[Row]:
    """What reading costs: the first call in an open store, then medians."""
    rng, matrix = made.rng, made.matrix()
    questions = rng.standard_normal((RUNS, DIMENSIONS), dtype=np.float32)
    chosen = rng.integers(len(made.statements), size=(RUNS, K))
    seeds = [[made.statements[at] for at in row] for row in chosen]
    thousand = [[made.statements[at] for at in rng.integers(len(made.statements), size=1_000)] for _ in range(RUNS)]
    texts = [" ".join(made.texts[row[0]].split()[:6]) for row in chosen]
    scope = Scope(CORPUS)
    with opened(folder / "store") as stores:

        def by_vector(run: int) -> object:
            return stores.vectors.search(VectorQuery(Kind.STATEMENT, CORPUS, K, questions[run]))

        def by_text(run: int) -> object:
            return stores.vectors.search(VectorQuery(Kind.STATEMENT, CORPUS, K, text=texts[run]))

        yield Row("vector search, first", 1000 * seconds_of(lambda: by_vector(0)))
        mine, plain = medians((by_vector, lambda run: best_plainly(matrix, questions[run])), runs=RUNS)
        yield Row(f"vector search, {len(matrix):,} x {DIMENSIONS}, best {K} (plain: numpy)", 1000 * mine, 1000 * plain)
        yield Row(f"full-text search, six words, best {K}", 1000 * medians((by_text,), runs=RUNS)[0])
        first = seconds_of(lambda: stores.graph.pull(seeds[0], _SHAPE, scope=scope))
        yield Row(f"pull, {_SHAPE.hops} hops from {K} seeds, first after a change", 1000 * first)
        pulled = len(stores.graph.pull(seeds[0], _SHAPE, scope=scope))
        (warm,) = medians((lambda run: stores.graph.pull(seeds[run], _SHAPE, scope=scope),), runs=RUNS)
        yield Row(f"pull, {_SHAPE.hops} hops from {K} seeds, later ({pulled:,} nodes)", 1000 * warm)
        (many,) = medians((lambda run: stores.graph.records(Kind.STATEMENT, thousand[run], scope=scope),), runs=RUNS)
        yield Row("records of 1,000 statements by id", 1000 * many)
        (few,) = medians((lambda run: stores.graph.records(Kind.STATEMENT, seeds[run][:10], scope=scope),), runs=RUNS)
        yield Row("records of 10 statements by id", 1000 * few)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=100_000, metavar="N", help="how many the corpus has")
    chosen = parser.parse_args()
    made = MadeUpGraph(chosen.statements, np.random.default_rng(1))
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        folder = Path(name)
        show_writing(made, folder)
        table(("reading", "ms", "plain ms", "ratio"), [row.cells() for row in reading(made, folder)])
    say(memory_line())


if __name__ == "__main__":
    main()
