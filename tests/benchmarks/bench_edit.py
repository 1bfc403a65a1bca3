"""One source of a large corpus is edited, and then deleted: bytes, rows and seconds, and the searches before and after.

Required: an edit and a deletion write fewer than 2 MB each and are done within 2 s; the first search after each takes at most
1.5 times as long as the one before, plus 10 ms. Times are of the processor, of the thread that asks: not of one that writes
files of the image behind it. With ``--servers`` the corpus is in the Neo4j (emptied) and the OpenSearch of HLGRAPH_TEST_SERVERS
(`make servers`), not in an embedded store, and times are those of a clock: the servers work. Bytes and rows are those of this
process alone.

    python tests/benchmarks/bench_edit.py [--statements 100000,1000000] [--folder DIR] [--servers [--prefix PREFIX]]
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from bench_image_edit import emptied
from measure import MEGABYTE, say, table

from hlgraph import HLGraph, connect
from hlgraph.errors import UnknownNameError
from hlgraph.evaluate.bench import ingest_size, questions_for
from hlgraph.records import Document
from hlgraph.settings import Settings, load
from hlgraph.stores.embedded import adjacency, database, row_files, vector_rows, view
from hlgraph.testing.seeded import SeededEmbedder

STRATEGIES = ("statement", "chunk", "path", "local", "fused", "auto")
MOST_BYTES, MOST_SECONDS, MOST_RATIO, SLACK = 2 * MEGABYTE, 2.0, 1.5, 0.010
ROUNDS = 5
_IO = Path("/proc/self/io")
_URI = "edited:1"
_TEXT = "Mara Quill built the harbour of Lindow in 1911. The harbour has {}0 piers. Oskar Brandt sold it to the Lindow Company."
_TIMED: dict[str, tuple[Any, str]] = {
    "view": (view.Views, "view"),
    "codes": (view.Views, "codes"),
    "row files": (row_files.RowFiles, "write_columns"),
    "code files": (row_files.RowFiles, "write_codes"),
    "image": (adjacency.Adjacency, "load"),
    "full text": (vector_rows, "free_rows"),
    "checkpoint": (database.Database, "_let_go"),
}


class Cost(NamedTuple):
    """What one action cost."""

    seconds: float
    written: int
    by_image: int
    rows: int
    parts: dict[str, float]


class Meter:
    """Seconds of the parts of the store, and rows that the writer changed.

    Parameters
    ----------
    clock : tells the seconds of an action
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.parts: dict[str, float] = defaultdict(float)
        self.rows = 0
        self.by_image = 0

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Measures while the block runs."""
        with contextlib.ExitStack() as stack:
            for name, (owner, attribute) in _TIMED.items():
                timed = self._timed(name, getattr(owner, attribute))
                stack.enter_context(mock.patch.object(owner, attribute, timed))
            yield

    def _timed(self, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def outer(*args: Any, **options: Any) -> Any:
            start, before = time.process_time(), _written()
            if name == "checkpoint" and args[0]._writer is not None:
                self.rows += args[0]._writer.total_changes
            try:
                return inner(*args, **options)
            finally:
                self.parts[name] += time.process_time() - start
                self.by_image += (_written() - before) * (name == "image")

        return outer

    def cost(self, action: Callable[[], object]) -> Cost:
        """Runs an action."""
        self.parts.clear()
        self.rows = self.by_image = 0
        before, start = _written(), self._clock()
        action()
        seconds = self._clock() - start
        return Cost(seconds, _written() - before - self.by_image, self.by_image, self.rows, dict(self.parts))


def _written() -> int:
    """Bytes that this process has written: by calls, and through mapped files."""
    found = dict(line.split(": ") for line in _IO.read_text().splitlines())
    return max(int(found["wchar"]), int(found["write_bytes"]))


def searches(graph: HLGraph, question: str, meter: Meter) -> dict[str, Cost]:
    """One search of each strategy."""
    return {
        name: meter.cost(lambda name=name: graph.search(question, strategy=name, k=20))  # type: ignore[misc]
        for name in STRATEGIES
    }


def _middle(costs: Sequence[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]


def show(settings: Settings, statements: int, *, on_servers: bool) -> bool:
    """Measures and prints; whether all limits are kept."""
    questions = iter(questions_for(statements, 400))
    meter = Meter(time.perf_counter if on_servers else time.thread_time)
    costs: dict[str, list[Cost]] = defaultdict(list)

    def ask(when: str) -> None:
        for name, cost in searches(graph, next(questions), meter).items():
            costs[f"{name} {when}"].append(cost)

    with connect(settings, embedder=SeededEmbedder()) as graph, meter.reading():
        with contextlib.suppress(UnknownNameError):  # a run before was stopped
            graph.delete([_URI])
        for _ in range(5):
            ask("to warm up")
        for turn in range(ROUNDS):
            graph.ingest(Document(_URI, _TEXT.format(2 * turn), "Lindow"))
            actions: dict[str, Callable[[], object]] = {
                "edit": lambda turn=turn: graph.ingest(Document(_URI, _TEXT.format(2 * turn + 1), "Lindow")),  # type: ignore[misc]
                "deletion": lambda: graph.delete([_URI]),
            }
            for name, action in actions.items():
                ask("to warm up")
                for _ in range(3):
                    ask(f"before {name}")
                costs[name].append(meter.cost(action))
                ask(f"after {name}")
    middle = {name: _middle(found) for name, found in costs.items()}
    told = [_told(name, middle) for name in actions]
    return all(told)


def _told(name: str, costs: dict[str, Cost]) -> bool:
    cost = costs[name]
    own = cost.seconds - cost.parts.get("image", 0.0)
    rows = [(name, f"{1000 * own:,.0f}", "", *_bytes(cost), f"{cost.rows:,}", _split(cost))]
    is_fine = cost.written < MOST_BYTES and own < MOST_SECONDS
    for strategy in STRATEGIES:
        one, two = costs[f"{strategy} before {name}"], costs[f"{strategy} after {name}"]
        is_fine &= two.seconds <= MOST_RATIO * one.seconds + SLACK
        times = (f"{1000 * two.seconds:,.1f}", f"{1000 * one.seconds:,.1f}")
        rows.append((f"  first {strategy} after", *times, *_bytes(two), "", _split(two)))
    table(("", "ms", "ms before", "MB written", "MB by image", "rows", "ms by part"), rows)
    say()
    return is_fine


def _bytes(cost: Cost) -> tuple[str, str]:
    return f"{cost.written / MEGABYTE:.2f}", f"{cost.by_image / MEGABYTE:.2f}"


def _split(cost: Cost) -> str:
    return ", ".join(f"{name} {1000 * value:,.0f}" for name, value in sorted(cost.parts.items()) if value >= 0.001)


def on_servers(prefix: str, scratch: Path) -> Settings:
    """The servers of the state folder, emptied unless a prefix names the indexes of a corpus that is there."""
    state = Path(os.environ["HLGRAPH_TEST_SERVERS"])
    live = load(state / "hlgraph.yaml")
    # Else a new prefix: an index of an older run would hold its vectors.
    own = replace(live.opensearch, prefix=prefix or f"bench-{uuid.uuid4().hex[:8]}")
    if prefix:
        # An image is waited for: the server would take minutes a question meanwhile.
        image = replace(live.neo4j, images=str(state / "images"), ranking="process")
        return replace(live, opensearch=own, neo4j=image)
    return replace(emptied(state, scratch), vectors=live.vectors, opensearch=own)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", default="100000,1000000", metavar="N,...", help="sizes of the corpora")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the store here, for the next run")
    parser.add_argument("--servers", action="store_true", help="use the servers of HLGRAPH_TEST_SERVERS")
    parser.add_argument(
        "--prefix", default="", help="of the indexes of a corpus that is on the servers: `bench_bulk.py --leave`"
    )
    given = parser.parse_args()
    is_fine = True
    for statements in map(int, given.statements.split(",")):
        with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as made:
            settings = Settings(store=f"hlgraph://{given.folder or Path(made)}")
            if given.servers:
                settings = on_servers(given.prefix, Path(made))
            start = time.process_time()
            settings, size = ingest_size(statements, settings, embedder="made-up")
            cpu = time.process_time() - start
            say(f"{statements:,} statements, ingested in {size.seconds:,.0f} s, {cpu:,.0f} s of the processor\n")
            is_fine &= show(settings, statements, on_servers=given.servers)
    say("all limits are kept" if is_fine else "a limit is exceeded")
    raise SystemExit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
