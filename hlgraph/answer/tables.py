"""The tables that pieces of evidence come from, whole: Markdown tables of documents, and rows that a mapping describes.

:func:`tables_of` finds them in the text of chunks. :class:`TableReader` reads the chunks of a file, and rows as evidence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import NamedTuple, TypeVar

from hlgraph.ids import shown
from hlgraph.records import Chunk, Evidence, Kind, Source, Statement
from hlgraph.retrieve.session import evidence_of
from hlgraph.stores.protocols import GraphStore, Scope
from hlgraph.text import Block, BlockKind, blocks, is_separator, plain
from hlgraph.where import And, Compare, Op, Or, Where

_R = TypeVar("_R", Source, Chunk, Statement)


MOST_ROWS = 20_000
"""Maximum number of rows, and of the chunks with them, that a rule reads."""
_BAR = re.compile(r"(?<!\\)\|")
TOTAL = re.compile(r"(?:grand |sub-?)?totals?(?:\W.*)?|average|mean", re.IGNORECASE)
_LONGEST_LINE = 160  # of a line above a table that names it
_MAPPED = "rows/"  # in the fingerprint of a chunk that a mapping of rows describes


class Row(NamedTuple):
    """A row of a table.

    Attributes
    ----------
    cells : its values by the label of their column, without empty ones; several values if a label repeats
    section : text of its cells without a label, such as the section that it stands in
    chunk : its chunk
    start : offset of its first character in the text of the source
    text : the row as it is written
    typed : the numbers among the metadata of its source, if a mapping of rows wrote them
    """

    cells: Mapping[str, tuple[str, ...]]
    section: str
    chunk: Chunk
    start: int
    text: str
    typed: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table.

    Attributes
    ----------
    name : its heading, or the title of its source, or the name of its file
    context : the name of its file, the title, the headings and the line above it
    labels : labels of its columns, in order
    rows : its rows, in order
    """

    name: str
    context: tuple[str, ...]
    labels: dict[str, None] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)


def tables_of(chunks: Iterable[Chunk], sources: Mapping[str, Source]) -> list[Table]:
    """The tables with a header in the texts of sources.

    Parts of one file with equal headings and headers are one table, and so are the rows of a file that one mapping describes.

    Parameters
    ----------
    chunks : all chunks of the sources, in any order
    sources : the sources, by id
    """
    texts: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.source_id in sources:
            texts[chunk.source_id].append(chunk)
    whole: dict[tuple[str, ...], Table] = {}
    for source in sorted((sources[each] for each in texts), key=lambda source: _place(source.uri)):
        own = sorted(texts[source.id], key=lambda chunk: (chunk.start, chunk.id))
        _, mark, mapping = own[0].fingerprint.partition(_MAPPED)
        base = base_of(source.uri)
        file = re.sub(r"[\W_]+", " ", base.rpartition("/")[2].partition(".")[0]).strip()
        if mark:
            table = whole.setdefault((base, mapping), Table(file, (file,)))
            row = _mapped_row(own[0], source)
            table.labels.update(dict.fromkeys(row.cells))
            table.rows.append(row)
            continue
        for labels, headings, above, rows in _written(own):
            context = tuple(part for part in (file, source.title, *headings, above) if part)
            name = headings[-1] if headings else above or source.title or file
            table = whole.setdefault((base, *headings, above, "|", *labels), Table(name, context))
            table.labels.update(dict.fromkeys(filter(None, labels)))
            table.rows.extend(rows)
    return list(whole.values())


def base_of(uri: str) -> str:
    """The URI of a file, without the part that names a row, or a thousand rows, of it."""
    return uri.partition("#")[0]


def _place(uri: str) -> tuple[str, int, str]:
    base, _, part = uri.partition("#")
    digits = re.findall(r"\d{1,18}", part)
    return base, int(digits[-1]) if digits else 0, part


def _mapped_row(chunk: Chunk, source: Source) -> Row:
    """The row of a source that a mapping of rows wrote: a line for each value."""
    cells: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for line in chunk.text.split("\n"):
        label, _, value = line.partition(": ")
        cells[label] += (value,)
    values = (value for value in source.metadata.values() if isinstance(value, int | float))
    typed = tuple(Decimal(str(value)) for value in values if not isinstance(value, bool))
    return Row(cells, "", chunk, chunk.start, chunk.text, typed)


def _written(chunks: Sequence[Chunk]) -> Iterator[tuple[list[str], list[str], str, list[Row]]]:
    """The Markdown tables of a source, whose chunks may divide them or overlap: labels, headings, line above, rows."""
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        parts += ["\n" * (chunk.start - size), chunk.text[max(0, size - chunk.start) :]]
        size = max(size, chunk.end)
    text = "".join(parts)
    headings: dict[int, str] = {}
    lines: list[Block] = []
    above = ""
    for block in (*blocks(text), None):
        is_rule = block is not None and bool(lines) and is_separator(text[block.start : block.end])
        is_row = block is not None and (block.kind is BlockKind.ROW or is_rule)
        if lines and not (is_row and block is not None and not block.is_loose):
            if len(lines) > 2 and is_separator(text[lines[1].start : lines[1].end]):
                labels = _bars(text[lines[0].start : lines[0].end])
                rows = list(_rows(text, lines, labels=labels, chunks=chunks))
                yield labels, list(headings.values()), above, rows
            lines, above = [], ""
        if block is None:
            break
        if is_row:
            lines.append(block)
        elif block.kind is BlockKind.HEADING:
            headings = {level: title for level, title in headings.items() if level < block.level}
            headings[block.level], above = " ".join(block.title.split()), ""
        else:
            line = text[block.start : block.end]
            above = " ".join(line.split()) if len(line) <= _LONGEST_LINE and block.kind is BlockKind.PROSE else ""


def _rows(text: str, lines: Sequence[Block], *, labels: Sequence[str], chunks: Sequence[Chunk]) -> Iterator[Row]:
    """The rows below the header, each with the section that a row of one cell above it names."""
    starts = [chunk.start for chunk in chunks]
    section = ""
    for at, block in enumerate(lines[2:], 3):
        line = text[block.start : block.end]
        texts = _bars(line)
        if is_separator(line) or not any(texts):
            continue
        if at < len(lines) and len(texts) > 1 and texts[0] and not any(texts[1:]):
            section = texts[0].rstrip(":")
            continue
        cells: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
        rest = [section] if section else []
        for number_of_cell, cell in enumerate(texts):
            label = labels[number_of_cell] if number_of_cell < len(labels) else ""
            if cell and label:
                cells[label] += (cell,)
            elif cell:
                rest.append(cell)
        chunk = chunks[max(0, bisect_right(starts, block.start) - 1)]
        yield Row(cells, " ".join(rest), chunk, block.start, line)
        section = "" if TOTAL.fullmatch(texts[0]) else section


def _bars(line: str) -> list[str]:
    """The cells of a line, without marks of Markdown."""
    parts = _BAR.split(line.strip().removeprefix("|").removesuffix("|"))
    return [" ".join(plain(part.replace("\\|", "|")).split()) for part in parts]


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads all rows of the tables that pieces of evidence come from: three reads of the graph, whatever their number.

    Parameters
    ----------
    graph : the store
    corpus : name of the corpus
    where : the filter of the search; None: none
    """

    graph: GraphStore
    corpus: str
    where: Where | None = field(default=None, kw_only=True)

    def tables(self, uris: Sequence[str]) -> list[Table] | None:
        """The tables of files.

        Parameters
        ----------
        uris : URIs of the files

        Returns
        -------
        list | None
            None if they have more than 20,000 rows that are sources, or more than 20,000 chunks.
        """
        ranges: list[Where] = []
        for uri in uris:
            rows = And((Compare("uri", Op.GE, f"{uri}#"), Compare("uri", Op.LT, f"{uri}$")))  # "$" is next to "#"
            ranges.append(Or((Compare("uri", Op.EQ, uri), rows)))
        wanted: Where = ranges[0] if len(ranges) == 1 else Or(tuple(ranges))
        scope = Scope(self.corpus, wanted if self.where is None else And((self.where, wanted)))
        sources = self._read(Kind.SOURCE, scope, record_type=Source)
        chunks = self._read(Kind.CHUNK, scope, record_type=Chunk) if len(sources) <= MOST_ROWS else []
        if max(len(sources), len(chunks)) > MOST_ROWS:
            return None
        return tables_of(chunks, {source.id: shown(source) for source in sources})

    def evidence(self, rows: Sequence[Row]) -> list[Evidence]:
        """Rows as evidence: each its statement, or its part of a chunk if no statement is stored at its place."""
        ids = tuple(sorted({row.chunk.source_id for row in rows}))
        if not ids:
            return []
        scope = Scope(self.corpus, sources=ids)
        sources = {source.id: shown(source) for source in self._read(Kind.SOURCE, scope, record_type=Source)}
        places: dict[tuple[str, int], Statement] = {}
        texts: dict[tuple[str, str], Statement] = {}
        chunks = {row.chunk.id: row.chunk for row in rows}
        for statement in self._read(Kind.STATEMENT, scope, record_type=Statement):
            places.setdefault((statement.source_id, statement.start), statement)
            if statement.chunk_id in chunks:
                chunk = chunks[statement.chunk_id]
                written = chunk.text[statement.start - chunk.start : statement.end - chunk.start]
                texts.setdefault((statement.source_id, " ".join(written.split())), statement)
        evidence: list[Evidence] = []
        for row in rows:
            source, chunk = sources.get(row.chunk.source_id), row.chunk
            if source is None:
                continue
            # A row that repeats another one has its statement.
            written = " ".join(row.text.split())
            said = places.get((source.id, row.start)) or texts.get((source.id, written))
            text, end = said.text if said else written, row.start + len(row.text)
            record = replace(said or chunk, text=text, start=row.start, end=end)
            evidence.append(evidence_of(record, chunk, source=source, score=1.0))
        return evidence

    def _read(self, kind: Kind, scope: Scope, *, record_type: type[_R]) -> list[_R]:
        """At most one record more than the limit."""
        records = islice(self.graph.find(kind, scope), MOST_ROWS + 1)
        return [record for record in records if isinstance(record, record_type)]
