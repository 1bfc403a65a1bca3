"""What an ingest costs the servers: processor time, bytes and round trips a statement, beside an earlier revision and a bare loop.

Passages are ingested into live servers. All of them are ingested once before, which nobody measures: that puts their vectors into
the cache of the local embedder, and a server that has just started spends more on compiling its code than on writing. Then the
earlier revision and this tree run with the packages of this environment, one after the other, each in a process and a corpus of
its own, in an empty database. The first third of the passages is not measured, the next half is, and the rest goes through proxies
that count the bytes. Processor time is that of the processes, from Linux alone.

The bare loop then reads back what this tree has stored, empties the database, and writes the same nodes and relationships by
`UNWIND ... MERGE`, 5,000 a query, and the same documents by opensearch-py, 500 a request, each index refreshed once. It
has no journal, no lock, no counts and no removal. Its seconds are those of the clock around both, one after the other.

Run with HLGRAPH_TEST_SERVERS naming the state folder of servers that are up (`make servers`), with the usual just-in-time
compiler of Java; the graph database is emptied.

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_persist.py [--set musique_oie] [--passages 600] [--before none]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bare_loop import Stored, rewrite, stored
from bench_before import BEFORE, code_of
from bench_image import server_cpu
from evaluation_sets import open_set, origin_line
from ingest_keywords import keywords
from live_stores import EMPTY
from measure import say, table
from opensearch_fixture import remove
from tcp_proxy import passed_on

from hlgraph import Document, IngestOptions, connect
from hlgraph.settings import load
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_SCHEMA = {
    "CONSTRAINT": "SHOW CONSTRAINTS YIELD name",
    "INDEX": "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name",
}
_SETTLE = 5.0  # seconds in which the servers end what they do afterwards


@dataclass(slots=True)
class Cost:
    """What one tree, or the bare loop, used: seconds of processors and of the clock, in all; kilobytes a statement."""

    statements: int = 0
    neo4j: float = 0.0
    opensearch: float = 0.0
    own: float = 0.0
    wall: float = 0.0
    persist: float = 0.0
    trips: int = 0
    sent: dict[str, float] = field(default_factory=dict)

    @property
    def servers(self) -> float:
        """Milliseconds of both servers a statement."""
        return 1000 * (self.neo4j + self.opensearch) / self.statements


class Bench:
    """The servers of a state folder, and where the passages lie."""

    def __init__(self, state: Path, passages: Sequence[Sequence[str]], extractions: Sequence[str]) -> None:
        self.found: dict[str, Any] = json.loads((state / "servers.json").read_text())
        self.config = state / "hlgraph.yaml"
        self.settings = load(self.config)
        self.server = Server(self.settings.store, self.settings.neo4j)
        self._passages = passages
        self._extractions = list(extractions)

    def cpu(self) -> tuple[float, float]:
        """Seconds of Neo4j and of OpenSearch up to now."""
        return server_cpu(self.found["neo4j"]["pid"]), server_cpu(self.found["opensearch"]["pid"])

    @contextlib.contextmanager
    def emptied(self) -> Iterator[str]:
        """A database without schema, since each tree makes its own, and a prefix of indexes that are removed afterwards."""
        self.server.schema([*EMPTY, "MATCH (n:Migration) DELETE n"])
        with self.server.driver().session(database=self.found["neo4j"]["database"]) as session:
            for kind, query in _SCHEMA.items():
                for row in list(session.run(query)):
                    session.run(f"DROP {kind} `{row['name']}`").consume()
        prefix = f"b{uuid.uuid4().hex[:8]}"
        yield prefix
        settings = replace(self.settings.opensearch, prefix=prefix)
        with OpenSearchVectorStore(str(self.settings.vectors), settings) as store:
            remove(store)

    def warm(self, prefix: str) -> None:
        """Ingest everything once."""
        files = tuple(self._extractions)
        options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
        settings = replace(self.settings, opensearch=replace(self.settings.opensearch, prefix=prefix))
        with connect(settings, corpus="bench-warm") as graph:
            documents = [Document(name, text, title, key=name) for name, text, title in self._passages]
            graph.ingest(documents, **keywords(options))

    def run(self, code: Path, prefix: str) -> Cost:
        """Ingest with one tree."""
        path = os.pathsep.join([str(code), str(_HERE)])
        process = subprocess.Popen(
            (sys.executable, str(_HERE / "persist_one.py")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        third, last = len(self._passages) // 3, len(self._passages) * 5 // 6
        with process, passed_on(self.settings.store) as graph, passed_on(str(self.settings.vectors)) as vectors:
            straight = {"store": self.settings.store, "vectors": str(self.settings.vectors)}
            self._ask(process, prefix, self._passages[:third], urls=straight)
            time.sleep(_SETTLE)
            before = self.cpu()
            done = self._ask(process, prefix, self._passages[third:last], urls=straight)
            time.sleep(_SETTLE)
            used = [now - then for now, then in zip(self.cpu(), before, strict=True)]
            counted = self._ask(
                process, prefix, self._passages[last:], urls={"store": graph.url, "vectors": vectors.url}
            )
            assert process.stdin is not None
            process.stdin.close()
            sent = {
                name: proxy.sent / counted["statements"] / 1000
                for name, proxy in (("Neo4j", graph), ("OpenSearch", vectors))
            }
        return Cost(
            done["statements"], *used, done["cpu"], done["wall"], done["seconds"]["persist"], done["trips"], sent
        )

    def _ask(
        self, process: subprocess.Popen[str], prefix: str, passages: Sequence[Sequence[str]], *, urls: dict[str, str]
    ) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {
            "settings": str(self.config),
            "prefix": prefix,
            "corpus": "bench-persist",
            "passages": list(passages),
            "extractions": self._extractions,
            **urls,
        }
        process.stdin.write(f"{json.dumps(asked)}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the ingest ended with {process.wait()}; what it said stands above")
        return json.loads(line)

    def bare(self, prefix: str) -> tuple[Cost, Stored]:
        """Write again what is stored, by a bare loop."""
        opensearch = SimpleNamespace(**self.found["opensearch"])
        with self.server.driver().session(database=self.found["neo4j"]["database"]) as session:
            held = stored(session, opensearch, prefix)
        self.server.schema(EMPTY)
        time.sleep(_SETTLE)
        before = self.cpu()
        with self.server.driver().session(database=self.found["neo4j"]["database"]) as session:
            wall = rewrite(held, session, opensearch)
        time.sleep(_SETTLE)
        used = [now - then for now, then in zip(self.cpu(), before, strict=True)]
        return Cost(held.statements, *used, wall=wall, persist=wall), held


def rows_of(costs: Sequence[Cost]) -> list[list[str]]:
    """The figures a statement, a column for each."""

    def row(name: str, values: Sequence[float | None], digits: int = 2) -> list[str]:
        return [name, *("" if value is None else f"{value:,.{digits}f}" for value in values)]

    return [
        row("statements measured", [cost.statements for cost in costs], 0),
        row("Neo4j, CPU-ms", [1000 * cost.neo4j / cost.statements for cost in costs]),
        row("OpenSearch, CPU-ms", [1000 * cost.opensearch / cost.statements for cost in costs]),
        row("both servers, CPU-ms", [cost.servers for cost in costs]),
        row("this process, CPU-ms", [1000 * cost.own / cost.statements if cost.own else None for cost in costs]),
        row("round trips to Neo4j, a thousand", [1000 * c.trips / c.statements if c.trips else None for c in costs], 0),
        *(
            row(f"kilobytes to {name}", [cost.sent.get(name) for cost in costs])
            for name in ("Neo4j", "OpenSearch")
            if any(cost.sent for cost in costs)
        ),
        row("persisting, statements a second", [cost.statements / cost.persist for cost in costs], 0),
        row("in all, statements a second", [cost.statements / cost.wall for cost in costs], 0),
    ]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="musique_oie")
    parser.add_argument("--passages", type=int, default=600)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION", help=f"({BEFORE}); none: only this tree")
    chosen = parser.parse_args()
    say(origin_line())
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        folder = Path(name)
        item = open_set(chosen.set, folder / "data", passages=chosen.passages, questions=1)
        passages = [(one.id, one.text, one.title) for one in item.passages]
        bench = Bench(
            Path(os.environ["HLGRAPH_TEST_SERVERS"]), passages, [str(path) for path in item.dataset.extractions]
        )
        with bench.emptied() as prefix:
            bench.warm(prefix)
        costs, names = list[Cost](), list[str]()
        if chosen.before != "none":
            (folder / "code").mkdir()
            code = code_of(chosen.before, folder / "code")
            with bench.emptied() as prefix:
                costs.append(bench.run(code, prefix))
            names.append(chosen.before)
        with bench.emptied() as prefix:
            costs.append(bench.run(_ROOT, prefix))
            names.append("now")
            loop, held = bench.bare(prefix)
            costs.append(loop)
            names.append("bare loop")
    say(f"{len(passages):,} passages of {chosen.set}")
    table(["a statement", *names], rows_of(costs))
    now = costs[-2]
    if len(costs) > 2:
        say(f"CPU of both servers, before / now: {costs[0].servers / now.servers:.1f} (at least 4)")
    say(f"CPU of both servers, now / bare loop: {now.servers / loop.servers:.2f} (at most 2)")
    total = sum(held.relationships.values())
    table(
        ["relationships", "", "share"],
        [[name, f"{number:,}", f"{number / total:.0%}"] for name, number in sorted(held.relationships.items())],
    )
    bench.server.close()


if __name__ == "__main__":
    main()
