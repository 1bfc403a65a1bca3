"""The least that writing a corpus costs: what is stored is read back, and written again by a loop without anything else."""

from __future__ import annotations

import base64
import time
from collections import defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import neo4j
import numpy as np
from opensearchpy import OpenSearch
from opensearchpy.helpers import bulk, scan

_LABELS = ("Source", "Chunk", "Topic", "Statement", "Fact", "Entity")
_BATCH = 5_000
_NODES = "MATCH (n:{label}) RETURN properties(n) AS properties"
_LINKS = (
    "MATCH (a)-[r]->(b) RETURN labels(a)[0] AS start, type(r) AS type, labels(b)[0] AS end, a.id AS a, b.id AS b, "
    "properties(r) AS properties"
)
_NODE = "UNWIND $rows AS row MERGE (n:{label} {{id: row.id}}) SET n += row.properties"
_LINK = (
    "UNWIND $rows AS row MATCH (a:{start} {{id: row.a}}) MATCH (b:{end} {{id: row.b}}) "
    "MERGE (a)-[r:{type}]->(b) SET r += row.properties"
)


@dataclass(slots=True)
class Stored:
    """Nodes by label, relationships by the query that writes them, documents by index, with the body that makes the index."""

    nodes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    links: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    relationships: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    documents: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def statements(self) -> int:
        """Number of statements."""
        return len(self.nodes["Statement"])


def stored(session: neo4j.Session, opensearch: SimpleNamespace, prefix: str) -> Stored:
    """All that a corpus has on both servers."""
    found, links = Stored(), defaultdict[str, list[dict[str, Any]]](list)
    for label in _LABELS:
        rows = session.run(_NODES.format(label=label))
        found.nodes[label] = [{"id": row["properties"]["id"], "properties": row["properties"]} for row in rows]
    for row in session.run(_LINKS):
        if row["start"] in _LABELS and row["end"] in _LABELS:
            query = _LINK.format(start=row["start"], type=row["type"], end=row["end"])
            links[query].append({"a": row["a"], "b": row["b"], "properties": row["properties"]})
            found.relationships[row["type"]] += 1
    found.links = dict(links)
    with _client(opensearch) as client:
        for name, body in client.indices.get(index=f"{prefix}-*").items():
            vectors = {"docvalue_fields": ["data"]}  # no part of the source that is kept
            found.documents[name] = [_document(hit) for hit in scan(client, query=vectors, index=name, size=1_000)]
            kept = body["settings"]["index"]
            for key in ("creation_date", "uuid", "version", "provided_name"):
                kept.pop(key, None)
            found.bodies[name] = {"settings": {"index": kept}, "mappings": body["mappings"]}
    return found


def _document(hit: dict[str, Any]) -> dict[str, Any]:
    """The document of a hit as it was sent, with the numbers of its vector."""
    source = hit["_source"]
    for data in hit.get("fields", {}).get("data", ()):
        numbers = np.frombuffer(base64.b64decode(data), dtype="<f4").astype(np.float64)
        source |= {"data": data, "vector": np.round(numbers, 9).tolist()}
    found = {"_id": hit["_id"], "_source": source}
    return found | ({"routing": hit["_routing"]} if "_routing" in hit else {})


def rewrite(held: Stored, session: neo4j.Session, opensearch: SimpleNamespace) -> float:
    """Write all of it to an empty database and to new indexes, which are removed; seconds by the clock."""
    work = [(_NODE.format(label=label), rows) for label, rows in held.nodes.items()] + list(held.links.items())
    with _client(opensearch) as client:
        for name, body in held.bodies.items():
            client.indices.create(index=f"{name}-bare", body=body)
        start = time.perf_counter()
        for query, rows in work:
            for at in range(0, len(rows), _BATCH):
                part = rows[at : at + _BATCH]
                session.execute_write(
                    lambda transaction, query=query, part=part: transaction.run(query, rows=part).consume()
                )
        for name, documents in held.documents.items():
            bulk(client, ({**document, "_index": f"{name}-bare"} for document in documents))
            client.indices.refresh(index=f"{name}-bare")
        seconds = time.perf_counter() - start
        for name in held.bodies:
            client.indices.delete(index=f"{name}-bare")
    return seconds


def _client(server: SimpleNamespace) -> OpenSearch:
    trust = {"ca_certs": server.ca} if server.ca else {}
    return OpenSearch(server.url, http_auth=(server.user, server.password), timeout=120, **trust)
