"""An import into servers, an export, a backup or a restore of them, that is killed: a script.

Its arguments are SETTINGS FOLDER MOMENT WHAT.

A moment is the beginning or the end of a transaction of Neo4j, of a write to the vector store, or of a wait for a file to be on
disk, counted from 1; 0 kills at none. An error of hlgraph ends it with code 3.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlgraph import connect
from hlgraph.errors import HLGraphError
from hlgraph.ingest import imports
from hlgraph.sdk.backup import restore
from hlgraph.settings import load
from hlgraph.stores import files
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.testing.embedder import WordEmbedder

NODES = 60
"""Records of one change: the import has several."""


class Moments:
    """Counts the moments; the process ends at the one with this number."""

    def __init__(self, kill_at: int = 0) -> None:
        self.count = 0
        self._kill_at = kill_at
        self._guard = threading.Lock()

    def pass_one(self) -> None:
        with self._guard:
            self.count += 1
            if self.count == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def arm(self, patch: Callable[[Any, str, Any], None]) -> None:
        """Small changes, and moments around each write."""
        patch(imports, "_NODES", NODES)
        for owner, name in ((Server, "write"), (OpenSearchVectorStore, "upsert"), (files, "sync")):
            patch(owner, name, self._around(getattr(owner, name)))

    def _around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            self.pass_one()
            result = real(*args, **named)
            self.pass_one()
            return result

        return call


if __name__ == "__main__":
    try:
        Moments(int(sys.argv[3])).arm(setattr)
        settings, folder, what = load(sys.argv[1]), Path(sys.argv[2]), sys.argv[4]
        if what == "restore":
            restore(folder, settings)
        else:
            with connect(settings, embedder=WordEmbedder(48)) as graph:
                {"backup": graph.backup, "import": graph.import_corpus, "export": graph.export_corpus}[what](folder)
    except HLGraphError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(3)
