"""How to read."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field

from hlgraph.errors import InputError, UnknownNameError

MIB = 1 << 20
_RESERVED = ("key", "metadata", "page_starts", "uri")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read; the defaults go by the suffix of each file.

    Parameters
    ----------
    format
        One of ``FORMATS`` for every source, whatever its suffix. Without it a folder gives the files whose suffix has a
        reader; a file named on its own, or by a glob, whose suffix has none is tried as text; standard input is text.
    mapping
        For rows (CSV, JSON, JSON lines): field of ours to column. Fields are ``text``, ``title``, ``id`` and
        ``metadata.<name>`` (or just the name). A column of a nested object has a dotted path, ``text=body.content``;
        the text may be joined from several columns with a blank line between, ``text=title+body``. Without a mapping
        the text is the first there is of ``text``, ``body``, ``content``, the title of ``title``, ``name``, the id of
        ``id``, ``_id``, ``key``. All columns not used so become metadata.
    encoding
        Of text, Markdown, HTML and rows. Without it: a byte order mark, or what an HTML page declares, or UTF-8; no
        guessing.
    max_bytes
        The largest source, after decompression; in JSON lines and CSV the largest row, so files may be of any length.

    Raises
    ------
    UnknownNameError
        There is no such format.
    InputError
        The mapping, the encoding or the limit cannot be used.
    """

    format: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    max_bytes: int = 64 * MIB

    def __post_init__(self) -> None:
        if self.format is not None:
            _check_format(self.format)
        for ours, column in self.mapping.items():
            _check_mapping(ours, column)
        if self.encoding is not None:
            _check_encoding(self.encoding)
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
        raise InputError(f"mapping {ours}={column}: a column has no name; write for example {ours}=body")


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
        "a".encode(encoding)  # refuses codecs that do not make text
    except (LookupError, ValueError) as error:
        raise InputError(f"encoding {encoding!r}: {error}; give a name such as utf-8, latin-1, cp1252") from error
