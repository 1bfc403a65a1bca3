"""The OpenSearch store against the plain client, on one server in one run: writing, reading vectors back, searching.

Run: ``HLGRAPH_TEST_SERVERS=FOLDER python -m tests.benchmarks.bench_opensearch [ROWS]``
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from opensearch_fixture import opened
from opensearchpy import OpenSearch
from opensearchpy.helpers import parallel_bulk

from hlgraph.change import VectorBlock
from hlgraph.records import Kind, Source
from hlgraph.stores.migrate import discover
from hlgraph.stores.opensearch.indexes import Home, index_body
from hlgraph.stores.opensearch.query_bodies import EXACT_BELOW
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Meta
from hlgraph.stores.opensearch.writes import row_items
from hlgraph.stores.protocols import VectorBatch, VectorQuery
from hlgraph.where import parse
from tests.benchmarks.measure import medians, say, seconds_of, table

DIMENSIONS = 384
_SOURCES = 500
_META = Meta("x", "statement", DIMENSIONS, 2, "english")
_PLAIN = Home("", "", "x", "", _META)
_WORDS = [f"word{at}" for at in range(4_000)]


def made_up(rows: int) -> tuple[tuple[Source, ...], VectorBlock]:
    """Rows of some twenty words with clustered unit vectors: words by a Zipf law, 200 directions with noise around."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((200, DIMENSIONS))
    matrix = centres[rng.integers(200, size=rows)] + 0.8 * rng.standard_normal((rows, DIMENSIONS))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    picks = np.minimum(rng.zipf(1.2, size=(rows, 20)), len(_WORDS)) - 1
    texts = tuple(" ".join(_WORDS[at] for at in row) for row in picks)
    sources = tuple(
        Source(f"{at:032x}", "bench", f"doc:{at}", "", "", {"year": 1990 + at % 40}) for at in range(_SOURCES)
    )
    owners = tuple(sources[at % _SOURCES].id for at in range(rows))
    return sources, VectorBlock(
        Kind.STATEMENT, tuple(f"{at:032x}" for at in range(rows)), texts, owners, DIMENSIONS, matrix.tobytes()
    )


def plain_client(server: SimpleNamespace) -> OpenSearch:
    """opensearch-py as its documentation shows it."""
    auth = (server.user, server.password) if server.user else None
    trust = {"ca_certs": server.ca} if server.ca else {}
    return OpenSearch(server.url, http_auth=auth, timeout=60, **trust)


def bench_bulk(server: SimpleNamespace, store: OpenSearchVectorStore, block: VectorBlock) -> list[list[str]]:
    """Rows a second until all of them can be searched; the plain client is given its documents ready made."""
    client = plain_client(server)
    documents: list[dict[str, Any]] = []
    for item in row_items(block, "one", home=_PLAIN):
        documents.append({"_id": item.id, **msgspec.json.decode(item.lines.split(b"\n")[1])})
    times: dict[str, list[float]] = {"plain": [], "store": []}
    body = index_body(discover("opensearch")[-1].text, _META, settings=store.connection.settings)
    for run in range(3):
        name = f"{store.connection.settings.prefix}-plain{run}"
        client.indices.create(index=name, body=body)

        def plain(index: str = name) -> None:
            deque(parallel_bulk(client, ({**item, "_index": index} for item in documents)), maxlen=0)
            client.indices.refresh(index=index)

        times["plain"].append(seconds_of(plain))
        client.indices.delete(index=name)
        batch = VectorBatch(f"run{run}", "one", (), (block,))

        def write(found: VectorBatch = batch) -> None:
            store.upsert(found)

        times["store"].append(seconds_of(write))
        store.delete(f"run{run}", {"statement": block.ids})
    client.close()
    rows = len(block.ids)
    plain_best, store_best = min(times["plain"]), min(times["store"])
    return [
        ["parallel_bulk, documents ready made", f"{rows / plain_best:,.0f} rows/s", ""],
        ["upsert", f"{rows / store_best:,.0f} rows/s", f"{plain_best / store_best:.0%} (at least 70%)"],
    ]


def bench_vectors(server: SimpleNamespace, store: OpenSearchVectorStore, block: VectorBlock) -> list[list[str]]:
    """A thousand vectors by id: base64 beside the k-NN field, against numbers out of the source of the documents."""
    client = plain_client(server)
    name = f"{store.connection.settings.prefix}-floats"
    body: Any = index_body(discover("opensearch")[-1].text, _META, settings=store.connection.settings)
    del body["mappings"]["_source"]
    client.indices.create(index=name, body=body)
    documents = (
        {"_index": name, "_id": item.id, **msgspec.json.decode(item.lines.split(b"\n")[1])}
        for item in row_items(block, "one", home=_PLAIN)
    )
    deque(parallel_bulk(client, documents), maxlen=0)
    client.indices.refresh(index=name)
    rng = np.random.default_rng(1)

    def wanted(_: int) -> list[str]:
        return [block.ids[at] for at in rng.choice(len(block.ids), 1_000, replace=False)]

    def floats(run: int) -> NDArray[np.float32]:
        found = client.mget(index=name, body={"ids": wanted(run)}, _source_includes=["vector"])
        return np.array([item["_source"]["vector"] for item in found["docs"]], dtype=np.float32)

    def store_vectors(run: int) -> NDArray[np.float32]:
        return store.vectors(Kind.STATEMENT, "bench", ids=wanted(run))[1]

    as_floats, as_bytes = medians([floats, store_vectors], runs=9)
    client.indices.delete(index=name)
    client.close()
    return [
        ["1,000 vectors by id, as JSON floats (mget)", f"{as_floats * 1e3:.0f} ms", ""],
        [
            "1,000 vectors by id, vectors()",
            f"{as_bytes * 1e3:.0f} ms",
            f"{as_floats / as_bytes:.1f} times (at least 5)",
        ],
    ]


def bench_search(store: OpenSearchVectorStore, block: VectorBlock) -> list[list[str]]:
    """Medians of searches for ten, and how many of the exact ten are found."""
    rng = np.random.default_rng(2)
    matrix = block.matrix()
    questions = matrix[rng.integers(len(matrix), size=40)] + 0.05 * rng.standard_normal((40, DIMENSIONS))
    questions = (questions / np.linalg.norm(questions, axis=1, keepdims=True)).astype(np.float32)
    picks = [" ".join(rng.choice(_WORDS[:2_000], 6)) for _ in questions]
    narrow = parse("year >= 2020 and year < 2024")
    forms: dict[str, Any] = {
        "vector": lambda at: VectorQuery(Kind.STATEMENT, "bench", 10, questions[at]),
        "vector, filter": lambda at: VectorQuery(Kind.STATEMENT, "bench", 10, questions[at], where=narrow),
        "text": lambda at: VectorQuery(Kind.STATEMENT, "bench", 10, text=picks[at]),
        "hybrid": lambda at: VectorQuery(Kind.STATEMENT, "bench", 10, questions[at], picks[at]),
        "hybrid, filter": lambda at: VectorQuery(Kind.STATEMENT, "bench", 10, questions[at], picks[at], narrow),
        "vector, k=100": lambda at: VectorQuery(Kind.STATEMENT, "bench", 100, questions[at]),
    }
    rows = []
    for name, form in forms.items():
        times = []
        for at in range(-5, len(questions)):
            start = time.perf_counter()
            store.search(form(at))
            times.append(time.perf_counter() - start)
        rows.append([f"search by {name}", f"{np.median(times[5:]) * 1e3:.1f} ms", ""])
    found = 0
    for at, question in enumerate(questions):
        exact = {block.ids[row] for row in np.argsort(-(matrix @ question))[:10]}
        found += len(exact & {hit.id for hit in store.search(forms["vector"](at))})
    kind = "exact" if len(block.ids) <= EXACT_BELOW else "HNSW"
    rows.append([f"recall of the ten nearest ({kind})", f"{found / (10 * len(questions)):.4f}", ""])
    return rows


def main() -> None:
    """All of it, as a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    state = Path(os.environ["HLGRAPH_TEST_SERVERS"]) / "servers.json"
    server = SimpleNamespace(**json.loads(state.read_text())["opensearch"])
    sources, block = made_up(count)
    say(f"{count:,} rows of {DIMENSIONS} dimensions, run {uuid.uuid4().hex[:6]}")
    with opened(server) as store:
        rows = bench_bulk(server, store, block)
        store.upsert(VectorBatch("bench", "one", sources, (block,)))
        rows += bench_vectors(server, store, block)
        rows += bench_search(store, block)
        start = time.perf_counter()
        store.neighbours(Kind.STATEMENT, "bench", vectors=block.matrix()[:200], threshold=0.8)
        first = time.perf_counter() - start
        again = seconds_of(
            lambda: store.neighbours(Kind.STATEMENT, "bench", vectors=block.matrix()[:200], threshold=0.8)
        )
        rows.append(["neighbours of 200 vectors, the first time", f"{first * 1e3:.0f} ms", ""])
        rows.append(["neighbours of 200 vectors, again", f"{again * 1e3:.0f} ms", ""])
    table(["", "", "against"], rows)


if __name__ == "__main__":
    main()
