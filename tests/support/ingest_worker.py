"""A worker that ingests JSON lines in small batches, to be killed: ``python ingest_worker.py STORE FILE [HOW]``.

``STORE`` is the url of a store or a file of settings (``.json``). It says ``ready`` when it may write, and waits for no other
writer; an error of hlgraph ends it with code 3.

``lease=SECONDS`` makes its right to write last so long.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import HLGraphError
from hlgraph.extract import LocalExtractor
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import Remover, delete_missing
from hlgraph.read import covered, read
from hlgraph.settings import Settings, load
from hlgraph.stores.open import open_stores
from hlgraph.testing.embedder import WordEmbedder


def main(store: str, path: str, how: str = "") -> None:
    """Ingest, and delete what is missing from the file."""
    if how.startswith("lease="):
        from hlgraph.stores.neo4j.lease import Lease

        Lease.__init__.__kwdefaults__["seconds"] = int(how.removeprefix("lease="))  # type: ignore[index]
    settings = load(store) if store.endswith(".json") else Settings(store=store)
    opened = open_stores(replace(settings, wait=0))
    steps = pipeline.Steps(ContentDefinedChunker(80, 0.2), LocalExtractor(), WordEmbedder(), batch_sources=5)
    with opened.closing:
        with opened.stores.graph.lock("c"):
            pass
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        seen: set[str] = set()

        def noted() -> object:
            for item in read([path]):
                seen.add(item.uri)
                yield item

        report = pipeline.ingest(noted(), "c", stores=opened.stores, steps=steps)  # type: ignore[arg-type]
        delete_missing(report, covered([path]), corpus="c", keep=seen, remover=Remover(opened.stores))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HLGraphError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(3)
