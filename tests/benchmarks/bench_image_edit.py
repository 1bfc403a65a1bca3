"""One statement of a corpus is edited: the next read of the graph beside the one before, patched and filled anew.

A made-up corpus is published to the graph store alone, without vectors. Each edit replaces the ten statements of one source by one.
The read is a pull of two hops around five entities. "filled anew" is the first read of a process that finds no files. Times are
milliseconds of processor time of this process, medians. With HLGRAPH_TEST_SERVERS naming the state folder of servers that are up
(`make servers`), the same is done on Neo4j, whose database is emptied.

    python tests/benchmarks/bench_image_edit.py [--statements 10000,100000] [--edits 10] [--only embedded|neo4j]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from live_stores import EMPTY
from made_up_graph import CORPUS, MadeUpGraph
from measure import table

from hlgraph import ids
from hlgraph.change import Change, ChangeState, MentionLink, Placement
from hlgraph.records import Kind, Record, Relationship, Source
from hlgraph.settings import Settings, load
from hlgraph.stores import migrate
from hlgraph.stores.embedded import image_changes as embedded_changes
from hlgraph.stores.image.patching import ChangeList, pack
from hlgraph.stores.neo4j import image_changes as neo4j_changes
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import GraphStore, PullShape, Scope

_FOLLOWED = frozenset(
    {
        Relationship.MENTIONS,
        Relationship.IN_CHUNK,
        Relationship.SUPPORTS,
        Relationship.RELATES,
        Relationship.CO_OCCURS,
    }
)
_SHAPE = PullShape(_FOLLOWED, frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY, Kind.FACT}), hops=2, fan_out=30)
_SCOPE = Scope(CORPUS)
_READS = 3


def publish(graph: GraphStore, change: Change) -> None:
    """Publishes a change, without its vectors."""
    plain = replace(change, vectors=(), embedding="", dimensions=0)
    with graph.lock():
        graph.stage(plain)
        graph.advance(plain.id, ChangeState.PUBLISHED)
        graph.advance(plain.id, ChangeState.DONE)


def edit(graph: GraphStore, source: Record, *, entity: str) -> Change:
    """The change that gives a source of one chunk one other statement."""
    if not isinstance(source, Source):
        raise TypeError(source)
    (chunk,) = graph.find(Kind.CHUNK, Scope(CORPUS, None, (source.id,)))
    (statement, *_) = graph.find(Kind.STATEMENT, Scope(CORPUS, None, (source.id,)))
    other = replace(statement, id=ids.statement_id(source.id, "It was edited."), text="It was edited.")  # type: ignore[call-arg]
    return Change(
        ids.content_id("edit", source.id),
        CORPUS,
        sources=(replace(source, version=source.version + 1),),
        base_versions=(source.version,),
        chunks=(chunk,),  # type: ignore[arg-type]
        statements=(other,),  # type: ignore[arg-type]
        entities=(entity,),
        placements=(Placement(chunk.id, other.id, 0, 0, 5),),
        mentions=(MentionLink(chunk.id, other.id, entity, "name", "name"),),
    )


def milliseconds(action: Callable[[], object]) -> float:
    """Processor time of this process."""
    start = time.process_time()
    action()
    return 1000 * (time.process_time() - start)


def measure(settings: Settings, *, size: int, edits: int, written: Sequence[int], files: Path) -> list[str]:
    """Figures of one store: the corpus is published, read, edited, and read in a new process's way."""
    made = MadeUpGraph(size, np.random.default_rng(0))
    opened = open_stores(settings)
    with opened.closing:
        graph = opened.stores.graph
        for change in made.changes():
            publish(graph, change)
        seeds = sorted(made.entities)[:: max(1, len(made.entities) // 5)]
        filled = milliseconds(lambda: graph.pull(seeds, _SHAPE, scope=_SCOPE))
        before, after, publishing, first = [], [], [], len(written)
        for source in list(graph.find(Kind.SOURCE, _SCOPE))[:edits]:
            change = edit(graph, source, entity=seeds[0])
            before += [milliseconds(lambda: graph.pull(seeds, _SHAPE, scope=_SCOPE)) for _ in range(_READS)]
            publishing.append(milliseconds(lambda change=change: publish(graph, change)))  # type: ignore[misc]
            after.append(milliseconds(lambda: graph.pull(seeds, _SHAPE, scope=_SCOPE)))
    shutil.rmtree(files)
    opened = open_stores(settings)
    with opened.closing:
        again = milliseconds(lambda: opened.stores.graph.pull(seeds, _SHAPE, scope=_SCOPE))
    read, next_ = statistics.median(before), statistics.median(after)
    own = statistics.median(publishing)
    size_of_list = statistics.median(written[first:])
    return [
        f"{size:,}",
        *(f"{value:.0f}" for value in (filled, again)),
        *(f"{value:.1f}" for value in (read, next_)),
        f"{next_ / read:.2f}",
        f"{own:.0f}",
        f"{size_of_list:,.0f}",
    ]


def emptied(state: Path, scratch: Path) -> Settings:
    """Settings for an empty Neo4j server, whose images are made at once and in a folder of their own."""
    found = load(state / "hlgraph.yaml")
    own = replace(found.neo4j, images=str(scratch / "images"), ranking="process")
    server = Server(found.store, own)
    migrate.apply(Neo4jTarget(server))
    server.schema(EMPTY)
    server.close()
    return replace(found, vectors=f"hlgraph://{scratch}/vectors", neo4j=own)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", default="10000,100000")
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--only", default="", choices=("", "embedded", "neo4j"))
    chosen = parser.parse_args()
    state, rows = os.environ.get("HLGRAPH_TEST_SERVERS", ""), []
    written: list[int] = []

    def packed(found: ChangeList) -> bytes:
        data = pack(found)
        written.append(len(data))
        return data

    embedded_changes.pack = neo4j_changes.pack = packed  # type: ignore[attr-defined]
    for size in map(int, chosen.statements.split(",")):
        for store in ("embedded", "neo4j"):
            if chosen.only in ("", store) and (state or store == "embedded"):
                with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as folder:
                    scratch = Path(folder)
                    is_server = store == "neo4j"
                    settings = (
                        emptied(Path(state), scratch) if is_server else Settings(store=f"hlgraph://{folder}/store")
                    )
                    files = scratch / ("images" if is_server else "store/graph")
                    files.mkdir(parents=True, exist_ok=True)
                    rows.append(
                        [store, *measure(settings, size=size, edits=chosen.edits, written=written, files=files)]
                    )
    head = (
        "store",
        "statements",
        "first fill",
        "filled anew",
        "read",
        "after an edit",
        "ratio",
        "publish",
        "bytes of a list",
    )
    table(head, rows)


if __name__ == "__main__":
    main()
