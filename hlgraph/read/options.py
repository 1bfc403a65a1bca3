"""Options of reading: format, column mapping, encoding, size limit."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlgraph.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.read.table_mapping import TableMapping

MIB = 1 << 20
_RESERVED = ("key", "metadata", "page_starts", "uri")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of :func:`~hlgraph.read.read`; by default each file is read by its suffix.

    Parameters
    ----------
    format : one of ``FORMATS``, applied to every source whatever its suffix. Default None: a folder yields the files whose
        suffix has a reader, and files without a suffix whose content has a known format. A file given by name or glob whose
        suffix is unknown is read if its content tells its format, else refused. Standard input is text
    mapping : for rows (CSV, JSON, JSON lines, Parquet, Arrow), part of a document to column, default empty. Parts are
        ``text``, ``title``, ``id`` and ``metadata.<name>`` (or just the name). A column of a nested object has a dotted path,
        ``text=body.content``; several columns can be joined by a blank line, ``text=title+body``. A part that is not
        mapped takes the first column present: ``text``, ``body`` or ``content`` for the text; ``title`` or ``name`` for
        the title; ``id``, ``_id`` or ``key`` for the id. All other columns become metadata. Files
        without a column for the text are tables whose rows are statements
    encoding : of text, Markdown, HTML and rows. Default None: the byte order mark, else what an HTML page declares, else
        UTF-8, else a guess from the bytes, which adds a warning to the document
    max_bytes : the largest source after decompression, bytes, default 64 MiB; for JSON lines and CSV the largest row, so
        files may be of any length
    follow_links : follow links that lead out of a folder. Default False: each of them is a failure
    comments : read the comments of DOCX files, each after the paragraph that it is about. Default False: a warning counts them
    rows : read every source as a table, and its rows as entities with facts; default None
    acl_tag : key of the tag of S3 objects that names their groups, which spaces separate. It takes the place of groups that the
        content names, and costs a request an object. An object without the tag is a failure. Default None: tags are not read

    Raises
    ------
    UnknownNameError
        The format is not one of ``FORMATS``.
    InputError
        The mapping, the encoding or the limit cannot be used.
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int = 64 * MIB
    follow_links: bool = False
    comments: bool = False
    rows: TableMapping | None = None
    acl_tag: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None:
            _check_format(self.format)
        for ours, column in self.mapping.items():
            _check_mapping(ours, column)
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.acl_tag is not None and not self.acl_tag.strip():
            raise InputError("acl_tag is empty; give the key of a tag, such as acl")
        if self.max_bytes < 1:
            raise InputError(f"max_bytes is {self.max_bytes}, but must be at least 1")


def _check_format(name: str) -> None:
    from hlgraph.read.formats import FORMATS  # its readers take these options

    if name not in FORMATS:
        raise UnknownNameError(f"no format is called {name!r}; give one of {', '.join(FORMATS)}")


def _check_mapping(ours: str, column: str) -> None:
    if ours in _RESERVED or not ours.removeprefix("metadata."):
        raise InputError(f"mapping {ours}={column}: {ours!r} cannot be mapped; map text, title, id or metadata.<name>")
    if not all(part.strip() for part in column.split("+")):
        raise InputError(f"mapping {ours}={column}: a column name is empty; write for example {ours}=body")


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
        "a".encode(encoding)  # refuses codecs that do not produce text
    except (LookupError, ValueError) as error:
        raise InputError(f"encoding {encoding!r}: {error}; give a name such as utf-8, latin-1, cp1252") from error
