"""Bulk loads, and a worker that makes one and is killed at a moment of it: a script with the arguments SETTINGS FOLDER MOMENT.

The moments, in their order, are those of :data:`MOMENTS`; an empty one kills at none. An error of hlgraph ends it with code 3.
"""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hlgraph
from hlgraph import connect
from hlgraph.errors import HLGraphError
from hlgraph.ingest.bulk_load import BulkOptions, BulkReport, bulk_load
from hlgraph.ingest.options import IngestOptions
from hlgraph.records import Document
from hlgraph.settings import Settings, load
from hlgraph.testing.embedder import WordEmbedder

MOMENTS = (
    "two batches are ingested",
    "some files are written",
    "the files are imported",
    "the schema is there",
    "some rows are sent",
    "all rows are sent",
    "the corpus is visible",
)
BATCH_CHARACTERS = 2_000
"""Of the ingest of a load: it has several batches."""
LAUNCHER = Path(hlgraph.__file__).parents[1] / "docker" / "local" / "servers.py"


def documents() -> list[Document]:
    """Texts with everything that a table of CSV might lose, and metadata of every type, some of them of two types."""
    result = []
    for n in range(30):
        text = (
            f'# Part "{n % 5}"\n\nMara Quill designed the "bridge" no. {n % 7} in {1890 + n % 9}.\r\nIvo Brandt, of Orne, '
            f"repaired the tower\\ in {1900 + n}; see a,b;c.\t\n\nThe mill of Tessing was built by Mara Quill\u2028."
        )
        metadata: dict[str, Any] = {"year": n % 3, "open": n % 2 == 0, "mixed": n if n % 2 else f"{n}", "empty": ""}
        metadata |= {"tags": ("a", "") if n % 2 else (), "one": ("",), "odd: name, so": 0.1 * n}
        metadata |= {} if n else {"none": 1}
        result.append(Document(f"doc:{n}", text * (1 + n % 3) if n else text, f"Title {n}", metadata))
    return result


def importing(servers: Any) -> str:
    """The import command of the servers of the tests."""
    state = shlex.quote(str(servers.folder))
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(LAUNCHER))} import {{folder}} --state {state}"
    return f"{command} --database {{database}}"


def run(settings: Settings, sources: Any, folder: Path, *, command: str = "") -> BulkReport:
    """One bulk load with the embedder of the tests."""
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        return bulk_load(graph.ingestion, sources, options=IngestOptions(), bulk=BulkOptions(folder, command))


def _die(owner: Any, name: str, after: int) -> None:
    """Has the process killed when a method has ended this many times."""
    real: Callable[..., Any] = getattr(owner, name)
    calls = itertools.count(1)

    def call(*args: Any, **named: Any) -> Any:
        result = real(*args, **named)
        if next(calls) == after:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, call)


def arm(moment: str) -> None:
    """Has this process killed at a moment."""
    from hlgraph.ingest import pipeline
    from hlgraph.ingest.bulk_load import _Load
    from hlgraph.stores.neo4j import bulk_load as neo4j_load
    from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore

    pipeline.BATCH_CHARACTERS = BATCH_CHARACTERS
    ends = (
        (pipeline._Batches, "_publish", 2),
        (neo4j_load._File, "write", 8),
        (_Load, "run_import", 1),
        (neo4j_load.migrate, "apply", 1),
        (OpenSearchVectorStore, "upsert", 3),
        (_Load, "_verify", 1),
        (neo4j_load.Neo4jBulkGraph, "show", 1),
    )
    if moment:
        _die(*dict(zip(MOMENTS, ends, strict=True))[moment])


if __name__ == "__main__":
    try:
        arm(sys.argv[3])
        run(load(sys.argv[1]), documents(), Path(sys.argv[2]))
    except HLGraphError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(3)
