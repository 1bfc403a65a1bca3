"""A process that searches on the servers with the code of one tree: each line ``strategy question`` is answered with the seconds.

It imports only names that all trees since 8c1c8a2 have, so that `bench_corpora.py` can run it with the code of another tree.

    python tests/benchmarks/search_worker.py PREFIX CORPUS
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.retrieve import SearchRequest, search
from hlgraph.settings import Neo4jSettings, OpenSearchSettings, Settings
from hlgraph.stores.open import open_stores
from hlgraph.testing.embedder import WordEmbedder


class Remembering:
    """An embedder that embeds each text once: what it takes is no part of what is measured."""

    def __init__(self, inner: WordEmbedder) -> None:
        self._inner = inner
        self._known: dict[str, NDArray[np.float32]] = {}
        self.fingerprint, self.dimensions = inner.fingerprint, inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known |= zip(missing, self._inner.embed(missing), strict=True)
        return np.array([self._known[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dimensions)

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing is forgotten."""


def answer_to(prefix: str, corpus: str) -> None:
    """Answer each line of the standard input with the seconds of the search and the ids of its chunks."""
    opened = open_stores(settings_of(prefix))
    embedder, reranker = Remembering(WordEmbedder()), LexicalReranker()
    with opened.closing:
        for line in sys.stdin:
            strategy, _, asked = line.strip().partition(" ")
            request = SearchRequest(asked, corpus)
            start = time.perf_counter()
            found = search(request, strategy, stores=opened.stores, embedder=embedder, reranker=reranker)
            seconds = time.perf_counter() - start
            sys.stdout.write(json.dumps([seconds, [item.chunk_id for item in found.evidence]]) + "\n")
            sys.stdout.flush()


def settings_of(prefix: str) -> Settings:
    folder = Path(os.environ["HLGRAPH_TEST_SERVERS"])
    found = json.loads((folder / "servers.json").read_text())
    graph, index = found["neo4j"], found["opensearch"]
    return Settings(
        store=graph["url"],
        vectors=index["url"],
        neo4j=Neo4jSettings(
            user=graph["user"],
            password=graph["password"],
            database=graph["database"],
            images=str(folder / "images"),
        ),
        opensearch=OpenSearchSettings(user=index["user"], password=index["password"], ca=index["ca"], prefix=prefix),
    )


if __name__ == "__main__":
    answer_to(*sys.argv[1:])
