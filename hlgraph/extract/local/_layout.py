"""A chunk as units: the stretches of its text that become one proposition each, cleaned of layout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlgraph.text import Block, BlockKind, block_sentences, blocks


class Unit(NamedTuple):
    """One future proposition: its span in the chunk, its words without layout, the deepest heading above it, what it is."""

    start: int
    end: int
    text: str
    heading: str
    kind: BlockKind = BlockKind.PROSE


_HAS_WORD = re.compile(r"[^\W_]")
_MARKER = re.compile(r"(?:[-*+•‣◦▪–]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\)|\d{1,3}\.)\s+(?:\[[ xX]\]\s+)?")
_QUOTE_MARK = re.compile(r"(?:^|\n)[ \t]*>[ \t>]*")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\((?:[^()\s]|\([^()\s]*\)){0,500}(?:\s\"[^\"\n]{0,200}\")?\)")
_BOLD = re.compile(r"(\*\*|__)(?=\S)((?:(?!\1).){1,500}?)(?<=\S)\1")
_SEPARATOR = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_CELL = re.compile(r"(?<!\\)\||\t")


def units(text: str, headings: tuple[str, ...]) -> Iterator[Unit]:
    """The units of a chunk in order: sentences, table rows with the labels of their columns, blocks of code.

    Headings, rules, fences, the separator row of a table and whatever has neither letter nor digit are none: they carry
    no assertion (a heading is context of what follows it).

    Parameters
    ----------
    text:
        The text of the chunk.
    headings:
        The headings that its first character stands under, outermost first.
    """
    heading = " ".join(headings[-1].split()) if headings else ""
    rows: list[Block] = []
    code: list[Block] = []
    for block in blocks(text):
        if rows and (block.kind is not BlockKind.ROW or block.is_loose) and not _is_rule(text, block):
            yield from _table(text, rows, heading)
            rows = []
        if code and block.kind is not BlockKind.CODE:
            yield from _code(text, code, heading)
            code = []
        if block.kind is BlockKind.HEADING:
            heading = " ".join(plain(block.title).split())
        elif block.kind is BlockKind.ROW or (rows and _is_rule(text, block)):
            rows.append(block)
        elif block.kind is BlockKind.CODE:
            code.append(block)
        elif block.kind is not BlockKind.RULE:
            yield from _prose(text, block, heading)
    yield from _table(text, rows, heading)
    yield from _code(text, code, heading)


def plain(text: str) -> str:
    """Words without Markdown: links become their labels, bold marks go.

    Examples
    --------
    >>> plain("see **the [manual](http://example.org/a_(b))**")
    'see the manual'
    """
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "**" in text or "__" in text:
        text = _BOLD.sub(r"\2", text)
    return text


def _prose(text: str, block: Block, heading: str) -> Iterator[Unit]:
    for start, end in block_sentences(text, block):
        begin = start
        if start == block.start and block.kind is BlockKind.ITEM and (marker := _MARKER.match(text, start, end)):
            begin = marker.end()
        words = text[begin:end]
        if ">" in words:
            words = _QUOTE_MARK.sub(" ", words)
        words = " ".join(plain(words).split())
        if _HAS_WORD.search(words):
            yield Unit(begin, end, words, heading)


def _is_rule(text: str, block: Block) -> bool:
    """Whether a line parts the header of a table from its rows."""
    line = text[block.start : block.end]
    return "-" in line and len(line) < 1000 and _SEPARATOR.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    parts = _CELL.split(line) if "|" in line or "\t" in line else [line]
    return [" ".join(plain(part.replace("\\|", "|")).split()) for part in parts]


def _table(text: str, rows: list[Block], heading: str) -> Iterator[Unit]:
    """A unit a row; the header is what stands above a separator row, and is a unit only where there is no other row."""
    labels: list[str] = []
    if len(rows) > 2 and _is_rule(text, rows[1]):
        labels = _cells(text[rows[0].start : rows[0].end])
        rows = rows[2:]
    for row in rows:
        if _is_rule(text, row):
            continue
        cells = _cells(text[row.start : row.end])
        named = [
            f"{labels[i]}: {cell}" if i < len(labels) and labels[i] else cell for i, cell in enumerate(cells) if cell
        ]
        words = "; ".join(named)
        if _HAS_WORD.search(words):
            yield Unit(row.start, row.end, words, heading, BlockKind.ROW)


def _code(text: str, lines: list[Block], heading: str) -> Iterator[Unit]:
    """One unit for a block of code, without its fences: commands and settings are what technical questions ask for."""
    body = [line for line in lines if not text.startswith(("```", "~~~"), line.start)]
    words = " ".join(text[line.start : line.end] for line in body)
    if body and _HAS_WORD.search(words):
        yield Unit(body[0].start, body[-1].end, " ".join(words.split()), heading, BlockKind.CODE)
