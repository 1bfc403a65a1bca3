"""Ingests passages with the local embedder, part by part, by whatever tree of hlgraph comes first on the path.

It reads one JSON object a line: ``settings`` (a file), ``prefix``, ``corpus``, ``passages`` (id, text, title), ``extractions``,
``store`` and ``vectors`` (urls). It answers each by one line of JSON: statements, and the seconds and round trips of the ingest.
Lines of the same urls use one connection. It knows the SDK of 1579cd0 and that of today.
"""

from __future__ import annotations

import inspect
import json
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import hlgraph
from hlgraph.settings import load


def opened(asked: dict[str, Any]) -> Any:
    """The graph of a line."""
    settings = load(asked["settings"])
    settings = replace(
        settings,
        store=asked["store"],
        vectors=asked["vectors"],
        opensearch=replace(settings.opensearch, prefix=asked["prefix"]),
    )
    return hlgraph.connect(settings, corpus=asked["corpus"])


def ingest(graph: Any, passages: Sequence[Sequence[str]], extractions: Sequence[str]) -> dict[str, Any]:
    """Ingest some passages, and tell what it took."""
    kind = "precomputed" if extractions else "local"
    options = hlgraph.IngestOptions(extract=kind, extractions=tuple(extractions), is_chunked=True)
    given = (
        {"options": options}
        if "options" in inspect.signature(type(graph).ingest).parameters
        else {item.name: getattr(options, item.name) for item in fields(options)}
    )
    documents = [hlgraph.Document(name, text, title, key=name) for name, text, title in passages]
    trips, cpu, start = round_trips(graph), seconds(), time.perf_counter()
    report = graph.ingest(documents, **given)
    return {
        "statements": report.added["statement"],
        "seconds": dict(report.seconds),
        "wall": time.perf_counter() - start,
        "cpu": seconds() - cpu,
        "trips": round_trips(graph) - trips,
    }


def round_trips(graph: Any) -> int:
    """Exchanges with Neo4j so far."""
    return int(graph.ingestion.opened.stores.graph._server.round_trips)  # no other name in both trees


def seconds() -> float:
    """Of the processors, of this process."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def main() -> None:
    """Answer line by line."""
    graph, urls = None, None
    for line in sys.stdin:
        asked = json.loads(line)
        if urls != (asked["store"], asked["vectors"]):
            if graph is not None:
                graph.close()
            graph, urls = opened(asked), (asked["store"], asked["vectors"])
        sys.stdout.write(json.dumps(ingest(graph, asked["passages"], asked["extractions"])) + "\n")
        sys.stdout.flush()
    if graph is not None:
        graph.close()


if __name__ == "__main__":
    main()
