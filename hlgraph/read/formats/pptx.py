"""Reader of PPTX slides: titles as headings, text, tables as Markdown, and speaker notes, with python-pptx."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced, check_package
from hlgraph.read.content import Origin, clean, clean_title
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Document, MetadataValue

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide
    from pptx.table import Table

_PROPERTIES = ("author", "category", "keywords", "language", "subject")
_BREAK = "\n\n"


def read_pptx(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a presentation: its slides in order, each a page, and its core properties.

    Parameters
    ----------
    origin : the file; its stem is the title if the properties name none
    data : the bytes of the file
    options : ``max_bytes`` limits the unpacked size, and the text in characters

    Raises
    ------
    MissingExtraError
        python-pptx is not installed.
    ReadError
        The file is damaged, needs a password, exceeds a limit of :mod:`hlgraph.read.bounds`, or holds no text.
    """
    try:
        import pptx
    except ImportError as error:
        raise MissingExtraError("pptx", "reading PPTX") from error
    produced = Produced(origin, len(data), options.max_bytes)
    check_package(origin, data, limit=options.max_bytes)
    show = pptx.Presentation(io.BytesIO(data))
    pages = [produced.add(clean(_BREAK.join(_parts(slide, produced)))) for slide in show.slides]
    title, metadata = _properties(show)
    if not any(pages):
        raise ReadError(origin.uri, "is empty: its slides hold no text")
    return Document(
        uri=origin.uri,
        text=_BREAK.join(pages),
        title=title or clean_title(origin.stem),
        metadata={**metadata, "slides": len(pages)},
        page_starts=tuple(accumulate((len(page) + len(_BREAK) for page in pages[:-1]), initial=0)),
    )


def _parts(slide: Slide, produced: Produced) -> Iterator[str]:
    """The title of a slide, its other texts and tables in the order of the file, and its notes."""
    heading = slide.shapes.title
    if heading is not None and heading.text_frame.text.strip():
        yield f"## {clean_title(heading.text_frame.text)}"
    for shape in _leaves(slide.shapes):
        if heading is not None and shape.shape_id == heading.shape_id:
            continue
        if getattr(shape, "has_table", False):
            text = _table(shape.table, produced)
        else:
            text = shape.text_frame.text.replace("\v", "\n").strip() if shape.has_text_frame else ""
        if text:
            yield text
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
        yield f"Notes: {notes.text.strip()}"


def _table(table: Table, produced: Produced) -> str:
    rows = [
        [
            Cell(
                clean_title(cell.text),
                cell.span_width,
                cell.span_height,
                is_head=table.first_row and not number,
                column=at,
            )
            for at, cell in enumerate(row.cells)
            if not cell.is_spanned
        ]
        for number, row in enumerate(table.rows)
    ]
    return Grid(rows, produced=produced).markdown()


def _leaves(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    """The shapes, with groups expanded; the parser refuses files that nest more than 255 elements."""
    for shape in shapes:
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            yield from _leaves(inner)


def _properties(show: Presentation) -> tuple[str, dict[str, MetadataValue]]:
    from pptx.opc.constants import RELATIONSHIP_TYPE

    try:
        properties = show.part.package.part_related_by(RELATIONSHIP_TYPE.CORE_PROPERTIES)
    except KeyError:  # show.core_properties would invent default values
        return "", {}
    values = {name: clean(str(getattr(properties, name) or "")).strip() for name in _PROPERTIES}
    metadata: dict[str, MetadataValue] = {name: value for name, value in values.items() if value}
    if properties.created:
        metadata["created"] = properties.created.isoformat()
    return clean_title(clean(str(properties.title or ""))), metadata


FORMAT = FileFormat(
    "pptx", suffixes=(".pptx",), read=read_pptx, mend="open it in a presentation program and save it again"
)
