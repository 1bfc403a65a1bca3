"""What a document must be like to be stored, whoever made it."""

from __future__ import annotations

import math

from hlgraph.errors import ReadError
from hlgraph.records import Document

_LARGEST = 2**63


def inadmissible(document: Document) -> ReadError | None:
    """Why this document cannot be stored; None when it can. Readers give admissible ones; callers of the SDK may not.

    Examples
    --------
    >>> print(inadmissible(Document("doc:1", "text", metadata={"weight": float("nan")})))
    doc:1: metadata 'weight' is nan; use text, a finite number, a boolean, or leave it out
    """
    uri = document.uri
    if not uri.strip():
        return ReadError(repr(uri), "the uri is empty", "give each document a uri of its own")
    for name, text in (("uri", uri), ("text", document.text), ("title", document.title)):
        if not _is_clean(text):
            return ReadError(ascii(uri), f"the {name} holds a NUL or half of a surrogate pair", "remove it")
    if not document.text.strip():
        return ReadError(uri, "the text is empty", "leave the document out")
    for key, value in document.metadata.items():
        for item in value if isinstance(value, tuple | list) else (value,):
            problem = _problem(item) if isinstance(key, str) and _is_clean(key) else "has a name that is no clean text"
            if problem:
                return ReadError(
                    uri, f"metadata {key!r} {problem}", "use text, a finite number, a boolean, or leave it out"
                )
    return None


def _is_clean(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _problem(value: object) -> str:
    if isinstance(value, str):
        return "" if _is_clean(value) else "holds a NUL or half of a surrogate pair"
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return "" if -_LARGEST <= value < _LARGEST else "is beyond 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"is {value}"
    return f"is a {type(value).__name__}, not text, a number, a boolean, or a list of these"
