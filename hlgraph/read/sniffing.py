"""Tells by its content what a file without a known suffix is: README, LICENSE, a PDF without a suffix, a page of a manual."""

from __future__ import annotations

import re
import zlib

from hlgraph.read.content import without_gz
from hlgraph.read.encodings import found_encoding, marked_encoding

HEAD = 4096  # bytes that are looked at
_NAMES = re.compile(
    r"(?:authors|changelog|changes|contribut\w*|copying|copyright|credits|faq|history|install|licen[cs]e\w*|maintainers|news|notice"
    r"|patents|readme|release|security|thanks|todo)\b",
    re.IGNORECASE,
)
_ZIP = rb"(?s)PK\x03\x04.{0,4000}?"
_TITLE = re.compile(rb"^\.[ \t]*(?:TH|Dd|SH)[ \t]", re.MULTILINE)
_MACRO = re.compile(rb"\.[ \t]*(?:\\\"|(?:so|de)\b)")
_LINES = 40  # at the beginning of a page of a manual, half of which are macros
_KNOWN = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (rb"%PDF-", "pdf"),
        (rb"\s*(?:<!doctype html|<html)", "html"),
        (_ZIP + rb"application/epub\+zip", "epub"),
        (_ZIP + rb"word/", "docx"),
        (_ZIP + rb"xl/", "xlsx"),
        (_ZIP + rb"ppt/", "pptx"),
    )
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def may_be_text(name: str) -> bool:
    """Whether a file of this name is looked into: it has no suffix, is a page of a manual, or is named like a README.

    Examples
    --------
    >>> [may_be_text(name) for name in ("LICENSE", "README.Debian.gz", "ls.1", "COPYING.LESSER", "a.png", "b.py")]
    [True, True, True, True, False, False]
    """
    plain = without_gz(name)
    suffix = plain.rpartition(".")[2] if plain.rfind(".") > 0 else ""
    return (
        not suffix
        or _NAMES.match(plain) is not None
        or re.fullmatch(r"[1-9](?:p|pm|perl|ssl|x|type|posix)?", suffix) is not None
    )


def format_by_content(head: bytes) -> str | None:
    """The format of a file by its first bytes; None for a program, or for what is no text.

    Parameters
    ----------
    head : the first 4,096 bytes, or all of them; those of a gzip file are unpacked

    Examples
    --------
    >>> format_by_content(b"%PDF-1.7"), format_by_content(b"All rights reserved."), format_by_content(b"#!/bin/sh")
    ('pdf', 'text', None)
    """
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, HEAD)
        except zlib.error:
            return None
    for pattern, name in _KNOWN:
        if pattern.match(head):
            return name
    if _is_manual(head):
        return "man"
    is_program = head.startswith((b"#!", b"PK\x03\x04", b"\x7fELF")) or not head.strip()
    return "text" if not is_program and _is_text(head) else None


def _is_manual(head: bytes) -> bool:
    if _TITLE.search(head):
        return True
    lines = [line for line in head.splitlines()[:_LINES] if line.strip()]
    macros = sum(line.startswith((b".", b"'")) for line in lines)
    return 2 * macros > len(lines) and any(map(_MACRO.match, lines))


def _is_text(head: bytes) -> bool:
    if marked_encoding(head):
        return True
    return found_encoding(head, is_cut=True) is not None and (b"\0" in head or not _CONTROLS.search(head))
