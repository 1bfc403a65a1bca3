"""What could not be read, and which stored sources that leaves in doubt."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import dataclass

from hlgraph.errors import ReadError

# Parsers of others meet broken files in more ways than they document (pypdf says so itself). One broken file must not
# stop the rest, so these are what such a parser may raise; our own code is never run under them.
PARSER_ERRORS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,  # lxml's parse errors
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def is_covered(uri: str, names: Collection[str]) -> bool:
    """Whether a source stands under one of these names: the same, a row of it (``name#...``), or in it (``name/``).

    Parameters
    ----------
    uri
        The uri of a source.
    names
        Uris of sources and files, of folders (ending in ``/``), or of all rows of a file (ending in ``#``). A set makes
        the time go by the length of ``uri`` only.

    Examples
    --------
    >>> is_covered("file:///d/a.csv#7", {"file:///d/a.csv"}), is_covered("file:///d/a.csv2", {"file:///d/a.csv"})
    (True, False)
    >>> is_covered("file:///d/e/f.md", {"file:///d/"})
    True
    """
    file, mark, _ = uri.partition("#")
    above = (file[: slash.end()] for slash in re.finditer("/", file))
    return (
        uri in names or (bool(mark) and (file in names or file + mark in names)) or any(map(names.__contains__, above))
    )


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """One source, row, file or folder that could not be read.

    ``uri`` is that of the smallest thing known to have failed: a row that has an id, else its file; a folder that
    cannot be listed ends in ``/``. Whatever is stored under it may still exist, so it must not be deleted as missing.
    """

    uri: str
    error: ReadError

    def protects(self, uri: str) -> bool:
        """Whether a stored source of this uri may be what failed, so that its absence proves nothing."""
        return is_covered(uri, (self.uri,))


def failure(uri: str, reason: str, *, mend: str = "") -> ReadFailure:
    """A failure with its error."""
    return ReadFailure(uri, ReadError(uri, reason, mend))
