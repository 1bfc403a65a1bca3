"""The form of an index, its settings and its mapping: made from the text of a migration and the settings of the server."""

from __future__ import annotations

import msgspec

from hlgraph.errors import StoreCorruptError
from hlgraph.ids import content_id
from hlgraph.records import Kind
from hlgraph.stores.opensearch.connection import ServerSettings
from hlgraph.stores.opensearch.wire import Json, Meta

SHARED_SINCE = 2
"""The migration from which on rows name their corpus, so that corpora can share an index."""
CHANGEABLE = (
    *("number_of_replicas", "refresh_interval", "max_result_window"),
    *("merge.policy.expunge_deletes_allowed", "merge_on_flush.enabled"),
)
"""Settings that an index can change while it is used; all others need a re-index."""

_NOT_SERVERLESS = ("number_of_shards", *CHANGEABLE)
_ENCODERS: dict[str, Json] = {
    "fp16": {"name": "sq", "parameters": {"type": "fp16"}},
    "byte": {"name": "sq", "parameters": {"bits": 7}},
}


def index_body(
    text: str, meta: Meta, *, settings: ServerSettings, is_serverless: bool = False
) -> dict[str, dict[str, Json]]:
    """The body of the request that creates an index, from the text of a migration.

    Parameters
    ----------
    text : text of the migration
    meta : metadata of the index
    settings : shards, replicas and the k-NN method
    is_serverless : whether to leave out the settings of shards, refreshes and merges, which serverless refuses, and to use
        faiss, its only engine

    Raises
    ------
    StoreCorruptError
        The migration holds no body of an index.
    """
    bodies: dict[str, Json] = msgspec.json.decode(text)
    values: dict[str, Json] = {
        "$shards": settings.shards,
        "$replicas": settings.replicas,
        "$dimensions": meta.dimensions,
        "$analyzer": f"words_{meta.language}",
        "$method": _method(settings, engine="faiss" if is_serverless else settings.engine),
        "$meta": msgspec.to_builtins(meta),
    }
    body = _filled(bodies["sources" if meta.kind == Kind.SOURCE else "rows"], values)
    if not isinstance(body, dict):
        raise StoreCorruptError("the OpenSearch migration holds no body of an index; install hlgraph again")
    found: dict[str, dict[str, Json]] = {name: item for name, item in body.items() if isinstance(item, dict)}
    if is_serverless:
        index = found["settings"]["index"]
        for name in _NOT_SERVERLESS:
            if isinstance(index, dict):
                index.pop(name, None)
    fields = found["mappings"]["properties"]
    if not meta.is_shared and isinstance(fields, dict):
        fields.pop("corpus", None)
        found["mappings"].pop("_routing", None)
    return found


def form_of(body: dict[str, dict[str, Json]]) -> str:
    """A hash of all of a form that only a re-index can change: part of the name of an index."""
    index = body["settings"]["index"]
    kept = {name: item for name, item in index.items() if name not in CHANGEABLE} if isinstance(index, dict) else {}
    mappings = {name: item for name, item in body["mappings"].items() if name != "_meta"}
    return content_id("form", msgspec.json.encode([kept, mappings], order="sorted").decode())[:8]


def _method(settings: ServerSettings, *, engine: str) -> Json:
    parameters: dict[str, Json] = {"m": settings.hnsw_m, "ef_construction": settings.hnsw_ef_construction}
    if settings.quantisation in _ENCODERS:
        parameters["encoder"] = _ENCODERS[settings.quantisation]
    return {"name": "hnsw", "engine": engine, "space_type": "innerproduct", "parameters": parameters}


def _filled(tree: Json, values: dict[str, Json]) -> Json:
    """A copy with the placeholders replaced by values."""
    if isinstance(tree, dict):
        return {name: _filled(item, values) for name, item in tree.items()}
    if isinstance(tree, list):
        return [_filled(item, values) for item in tree]
    return values[tree] if isinstance(tree, str) and tree in values else tree
