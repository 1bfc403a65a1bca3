"""Sends JSON requests to a server on this machine."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from pathlib import Path
from urllib.parse import urlsplit

TIMEOUT = 10.0


def ask(url: str, body: object = None, *, user: str, password: str, ca: Path | None = None) -> tuple[int, object]:
    """Sends a GET, or a POST if there is a body; returns the status and the decoded answer.

    Raises
    ------
    OSError, http.client.HTTPException : the server does not answer, or not in HTTP
    """
    parts = urlsplit(url)
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=str(ca) if ca else None)
        link: http.client.HTTPConnection = http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT, context=context)
    else:
        link = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {token}", "Accept": "application/json", "Content-Type": "application/json"}
    try:
        link.request(
            "GET" if body is None else "POST", parts.path or "/", None if body is None else json.dumps(body), headers
        )
        answer = link.getresponse()
        text = answer.read()
    finally:
        link.close()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text.decode(errors="replace")
