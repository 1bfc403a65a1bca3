"""Persisting to Neo4j against a bare UNWIND-MERGE loop with the same rows, and against batches of 25 with a query a link.

The three take turns, change by change, in one database; each writes ids of its own. hlgraph's time is that of ``stage`` and
``advance``: the journal, the check of versions, counts, names, the flip, in one transaction. Run with HLGRAPH_TEST_SERVERS
naming the state folder of servers that are up (`make servers`); the database is emptied first.

    python tests/benchmarks/bench_neo4j.py [statements]
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import neo4j
import numpy as np
from made_up_graph import CORPUS, MadeUpGraph
from measure import say, table

from hlgraph.change import Change, ChangeState
from hlgraph.settings import Neo4jSettings
from hlgraph.stores.neo4j import rows
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import BATCH, Row, Server

_NODE = "UNWIND $rows AS row MERGE (n:{label} {{id: row.id}}) SET n += row.properties"
_LINK = (
    "UNWIND $rows AS row MATCH (a:{start} {{id: row.a}}) MATCH (b:{end} {{id: row.b}}) "
    "MERGE (a)-[r:{type}]->(b) SET r += row.properties"
)
_SMALL = 25
_SHARE = 20  # of so many rows, the slow shape writes one


def nodes(change: Change) -> Iterator[tuple[str, list[Row]]]:
    """Every node of a change, with its properties, by label."""
    tables = {
        "Source": rows.source_rows(change),
        "Chunk": rows.chunk_rows(change),
        "Topic": rows.topic_rows(change),
        "Statement": rows.statement_rows(change),
        "Entity": [{"id": name, "name": ""} for name in sorted(set(change.entities))],
        "Fact": rows.fact_rows(change),
    }
    for label, found in tables.items():
        yield label, [{"id": row["id"], "properties": row.get("properties", row)} for row in found]


def links(change: Change) -> Iterator[tuple[tuple[str, str, str], list[Row]]]:
    """Every relationship of a change, by start, type and end."""
    mentions = rows.mention_rows(change)

    def made(found: list[tuple[str, str, Row]]) -> list[Row]:
        return [{"a": a, "b": b, "properties": properties} for a, b, properties in found]

    yield ("Chunk", "FROM_SOURCE", "Source"), made([(c.id, c.source_id, {}) for c in change.chunks])
    yield (
        ("Statement", "IN_CHUNK", "Chunk"),
        made(
            [
                (p.statement_id, p.chunk_id, {"ordinal": p.ordinal, "start": p.start, "end": p.end})
                for p in change.placements
            ]
        ),
    )
    yield (
        ("Topic", "IN_CHUNK", "Chunk"),
        made([(t, c, {}) for c, t in sorted({(a.chunk_id, a.topic_id) for a in change.abouts})]),
    )
    yield (
        ("Statement", "ABOUT", "Topic"),
        made([(a.statement_id, a.topic_id, {"chunks": [a.chunk_id]}) for a in change.abouts if a.statement_id]),
    )
    yield (
        ("Fact", "SUPPORTS", "Statement"),
        made([(s.fact_id, s.statement_id, {"chunks": [s.chunk_id]}) for s in change.supports]),
    )
    yield (
        ("Statement", "MENTIONS", "Entity"),
        made(
            [
                (str(m["statement_id"]), str(m["entity_id"]), {key: m[key] for key in ("chunks", "surfaces", "kinds")})
                for m in mentions
            ]
        ),
    )
    yield ("Entity", "SUBJECT", "Fact"), made([(f.subject_id, f.fact_id, {}) for f in change.facts])
    yield ("Entity", "OBJECT", "Fact"), made([(f.object_id, f.fact_id, {}) for f in change.facts if f.object_id])
    yield (
        ("Entity", "RELATES", "Entity"),
        made(
            [(f.subject_id, f.object_id, {"predicate": f.predicate, "facts": 1}) for f in change.facts if f.object_id]
        ),
    )


def renamed(found: list[Row], mark: str) -> list[Row]:
    """The same rows with ids of their own."""
    keys = ("id", "a", "b")
    renewed = [{key: mark + str(value) if key in keys else value for key, value in row.items()} for row in found]
    for row in renewed:
        if "id" in row:
            row["properties"] = {**row["properties"], "id": row["id"]}  # type: ignore[dict-item]
    return renewed


def bare(session: neo4j.Session, change: Change) -> tuple[float, int]:
    """UNWIND and MERGE, as many rows a query as hlgraph takes; seconds and rows."""
    work = [(_NODE.format(label=label), renamed(found, "b")) for label, found in nodes(change)]
    work += [(_LINK.format(start=a, type=kind, end=b), renamed(found, "b")) for (a, kind, b), found in links(change)]
    start = time.perf_counter()
    for query, found in work:
        for at in range(0, len(found), BATCH):
            part = found[at : at + BATCH]
            session.execute_write(
                lambda transaction, query=query, part=part: transaction.run(query, rows=part).consume()
            )
    return time.perf_counter() - start, sum(len(found) for _, found in work)


def by_link(session: neo4j.Session, change: Change) -> tuple[float, int]:
    """Rows 25 a query, but every entity, fact and link a query of its own; seconds and rows."""
    node_work = [(_NODE.format(label=label), renamed(found, "s")) for label, found in nodes(change)]
    link_work = [
        (_LINK.format(start=a, type=kind, end=b), renamed(found, "s")) for (a, kind, b), found in links(change)
    ]
    count = 0
    start = time.perf_counter()
    for query, found in (*node_work, *link_work):
        some = found[::_SHARE]
        size = 1 if any(name in query for name in ("Entity", "Fact", "MATCH")) else _SMALL
        for at in range(0, len(some), size):
            part = some[at : at + size]
            session.execute_write(
                lambda transaction, query=query, part=part: transaction.run(query, rows=part).consume()
            )
        count += len(some)
    return time.perf_counter() - start, count


def main() -> None:
    """All of it, as a table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
    found = json.loads((Path(os.environ["HLGRAPH_TEST_SERVERS"]) / "servers.json").read_text())["neo4j"]
    settings = Neo4jSettings(user=found["user"], password=found["password"], database=found["database"])
    server = Server(found["url"], settings)
    server.schema(["MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS"])
    graph = MadeUpGraph(size, np.random.default_rng(5), sources_a_change=150)
    times: dict[str, list[tuple[float, int]]] = {
        "hlgraph": [],
        "bare UNWIND-MERGE": [],
        "25 a batch, a query a link": [],
    }
    trips = statements = 0
    with Neo4jGraphStore(server) as store, server.driver().session(database=found["database"]) as session, store.lock():
        for number, change in enumerate(graph.changes()):
            count = sum(len(part) for _, part in (*nodes(change), *links(change)))
            before = server.round_trips
            start = time.perf_counter()
            store.stage(replace(change, id=f"{change.id}{number}"))
            store.advance(f"{change.id}{number}", ChangeState.PUBLISHED)
            store.advance(f"{change.id}{number}", ChangeState.DONE)
            times["hlgraph"].append((time.perf_counter() - start, count))
            trips += server.round_trips - before
            statements += len(change.statements)
            times["bare UNWIND-MERGE"].append(bare(session, change))
            times["25 a batch, a query a link"].append(by_link(session, change))
    # The first change of each warms the server up: plans, pages, compiled code.
    speeds = {
        name: sum(count for _, count in some[1:]) / sum(seconds for seconds, _ in some[1:])
        for name, some in times.items()
    }
    say(f"{statements:,} statements in {len(times['hlgraph'])} changes of corpus {CORPUS}")
    say(f"{trips * 1000 / statements:.1f} round trips of hlgraph for a thousand statements")
    own = speeds["hlgraph"]
    table(
        ["", "rows a second", "hlgraph is"],
        [
            [name, f"{speed:,.0f}", f"{own / speed:.2f} x" if name != "hlgraph" else ""]
            for name, speed in speeds.items()
        ],
    )


if __name__ == "__main__":
    main()
