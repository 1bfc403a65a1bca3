"""Forms of OpenSearch indexes: recall and bytes by quantisation and HNSW settings, and what many corpora cost in each layout.

Run: ``HLGRAPH_DATA=FOLDER HLGRAPH_TEST_SERVERS=FOLDER python -m tests.benchmarks.bench_indexes [SET] [TEXTS] [CORPORA]``
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from opensearch_fixture import opened

from hlgraph.change import VectorBlock
from hlgraph.evaluate.datasets import read_passages
from hlgraph.models.install import load_local
from hlgraph.records import Kind, Source
from hlgraph.stores.opensearch import query_bodies
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import VectorBatch, VectorQuery
from hlgraph.text import sentences
from tests.benchmarks.measure import say, table

_FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"quantisation": "byte"},
    {"hnsw_m": 8, "hnsw_ef_construction": 64},
    {"hnsw_m": 32, "hnsw_ef_construction": 256},
)
_K = 10


def block_of(texts: list[str], vectors: NDArray[np.float32]) -> VectorBlock:
    ids = tuple(f"{at:032x}" for at in range(len(texts)))
    return VectorBlock(Kind.STATEMENT, ids, tuple(texts), ids, vectors.shape[1], vectors.tobytes())


def found(store: OpenSearchVectorStore, corpus: str, question: NDArray[np.float32]) -> set[str]:
    return {hit.id for hit in store.search(VectorQuery(Kind.STATEMENT, corpus, _K, question))}


def bench_forms(server: SimpleNamespace, texts: list[str], questions: list[str]) -> None:
    """Recall of the ten nearest by HNSW alone, of 10 and of 512 candidates, which are scored again; and bytes on disk."""
    embedder = load_local("all-MiniLM-L6-v2")
    vectors, asked = embedder.embed(texts), embedder.embed(questions)
    exact = [{f"{row:032x}" for row in np.lexsort((np.arange(len(texts)), -(vectors @ one)))[:_K]} for one in asked]
    query_bodies.EXACT_BELOW = 0
    spare = query_bodies._SPARE
    rows = []
    for form in _FORMS:
        with opened(server, **form) as store:
            store.upsert(VectorBatch("bench", "one", (), (block_of(texts, vectors),)))
            recalls = []
            for query_bodies._CANDIDATES, query_bodies._SPARE in ((2 * _K, 0), (512, spare)):
                hits = sum(len(found(store, "bench", one) & best) for one, best in zip(asked, exact, strict=True))
                recalls.append(f"{hits / (_K * len(asked)):.4f}")
            store.connection.ask("POST", f"/{store.connection.settings.prefix}-*/_forcemerge", answer=dict[str, Any])
            path = f"/{store.connection.settings.prefix}-shared-statement-*/_stats/store"
            size = store.connection.ask("GET", path, answer=dict[str, Any])["_all"]["primaries"]["store"][
                "size_in_bytes"
            ]
            rows.append([str(form) if form else "default", *recalls, f"{size / len(texts):,.0f}"])
    table(["form", "R@10, 20 candidates", "R@10, 512 candidates", "bytes a row"], rows)


def bench_layouts(server: SimpleNamespace, pid: int, corpora: int) -> None:
    """Indexes, and CPU-seconds of the server, of corpora of twenty rows of each kind."""
    rng = np.random.default_rng(1)
    rows = []
    for layout in ("shared", "dedicated"):
        with opened(server, layout=layout) as store:
            before = seconds_of_process(pid)
            for at in range(corpora):
                sources = (Source("s", f"c{at}", "u", "t", "x"),)
                vectors = rng.standard_normal((20, 64)).astype(np.float32)
                plain = block_of([f"text {row}" for row in range(20)], vectors)
                kinds = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
                blocks = tuple(
                    VectorBlock(kind, plain.ids, plain.texts, plain.source_ids, 64, plain.data) for kind in kinds
                )
                store.upsert(VectorBatch(f"c{at}", "one", sources, blocks))
            written = seconds_of_process(pid)
            for at in range(corpora):
                store.search(VectorQuery(Kind.STATEMENT, f"c{at}", 5, vectors[0], "text"))
            searched = seconds_of_process(pid)
            indexes = len(store.indexes.all())
            rows.append(
                [layout, str(indexes), f"{written - before:.1f}", f"{(searched - written) / corpora * 1e3:.0f}"]
            )
    table(["layout", "indexes", "CPU-seconds of the ingest", "CPU-milliseconds a search"], rows)


def seconds_of_process(pid: int) -> float:
    """CPU-seconds of a process so far."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Both tables."""
    name = sys.argv[1] if len(sys.argv) > 1 else "musique_oie"
    count, corpora = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((2, 6_000), (3, 40)))
    state = json.loads((Path(os.environ["HLGRAPH_TEST_SERVERS"]) / "servers.json").read_text())["opensearch"]
    folder = Path(os.environ["HLGRAPH_DATA"]) / name
    whole = (passage.text for passage in read_passages(folder / "corpus.jsonl.gz"))
    parts = (text[start:end] for text in whole for start, end in sentences(text))
    texts = list(dict.fromkeys(parts))[: count + 200]
    say(f"{name}: {len(texts) - 200:,} sentences, 200 others of the same passages are the questions")
    bench_forms(SimpleNamespace(**state), texts[200:], texts[:200])
    bench_layouts(SimpleNamespace(**state), state["pid"], corpora)


if __name__ == "__main__":
    main()
