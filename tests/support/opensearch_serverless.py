"""The rules of Amazon OpenSearch Serverless in front of the real server of the tests.

Vector collections refuse ids of documents, conditional writes and everything about nodes, shards and refreshes; they have
the engine faiss only; and what was written is seen later. The engine is changed to lucene on the way to the server, which
lacks the native libraries of faiss.
"""

from __future__ import annotations

import json
import re

from opensearch_proxy import Forward, Reply, Request

_JSON = {"content-type": "application/json"}
_ALLOWED = re.compile(r"/[\w,*-]+(/(_mapping|_bulk|_search|_doc)(\?.*)?)?")
_SETTINGS = (
    "number_of_shards",
    "number_of_replicas",
    "refresh_interval",
    "max_result_window",
    "merge_on_flush.enabled",
)


def _refused(status: int, reason: str) -> Reply:
    error = {"error": {"type": "illegal_argument_exception", "reason": reason}, "status": status}
    return Reply(status, json.dumps(error).encode(), _JSON)


def serverless(request: Request, forward: Forward) -> Reply | None:  # noqa: PLR0911 - one a rule
    """Refuses what serverless refuses; leaves the rest to the server."""
    path = request.path.partition("?")[0]
    if "authorization" not in request.headers or "aoss" not in request.headers["authorization"]:
        return _refused(403, "not signed for aoss")
    if not _ALLOWED.fullmatch(path) or "if_seq_no" in request.path or "op_type" in request.path:
        return _refused(404, f"{request.method} {path} is not supported")
    if request.method == "PUT" and path.count("/") == 1:
        text = request.body.decode()
        if any(f'"{name}"' in text for name in _SETTINGS) or '"lucene"' in text:
            return _refused(400, "a setting or an engine that serverless does not have")
        body = json.loads(text.replace('"faiss"', '"lucene"'))
        body.setdefault("settings", {}).setdefault("index", {})["refresh_interval"] = "50ms"
        return forward(json.dumps(body).encode())
    if path.endswith("/_bulk"):
        for line in request.body.splitlines():
            if line.startswith(b'{"index":') and b"_id" in line:
                return _refused(400, "Document ID is not supported in create/index operation request")
    if b"_seq_no" in request.body:
        return _refused(400, "_seq_no is not supported")
    return None
