"""The closed set of formats, and which suffix of a file name stands for which."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FORMATS = ("csv", "docx", "html", "json", "jsonl", "markdown", "pdf", "text")

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".csv": "csv",
        ".tsv": "csv",
        ".docx": "docx",
        ".htm": "html",
        ".html": "html",
        ".xhtml": "html",
        ".json": "json",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".markdown": "markdown",
        ".md": "markdown",
        ".pdf": "pdf",
        ".rst": "text",
        ".text": "text",
        ".txt": "text",
    }
)


def format_of(name: str) -> str | None:
    """The format that the suffix of this file name stands for, in any case, looking behind ``.gz``; else None.

    Examples
    --------
    >>> format_of("Rows.JSONL.gz"), format_of("picture.png")
    ('jsonl', None)
    """
    plain = without_gz(name)
    dot = plain.rfind(".")
    return SUFFIXES.get(plain[dot:].lower()) if dot > 0 else None


def without_gz(name: str) -> str:
    """The file name that is left when ``.gz`` is taken off."""
    return name[:-3] if name.lower().endswith(".gz") else name
