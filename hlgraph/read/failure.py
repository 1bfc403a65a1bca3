"""Failures of reading, and which stored sources they protect from deletion."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hlgraph.errors import HLGraphError, MissingExtraError, ReadError
from hlgraph.read.content import clean

_MOST_SHOWN = 300  # characters of what a parser says; it may quote its input


def is_covered(uri: str, names: Collection[str]) -> bool:
    """Whether a source is one of these names, a row of one (``name#...``), or inside a folder among them (``name/``).

    Parameters
    ----------
    uri : URI of a source
    names : URIs of sources and files, of folders (ending in ``/``), or of all rows of a file (ending in ``#``). With a
        set, the time depends only on the length of ``uri``.

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

    Sources stored under its URI may still exist, so they must not be deleted as missing.

    Attributes
    ----------
    uri : URI of the smallest unit known to have failed: a row that has an id, else its file; a folder that cannot be
        listed ends in ``/``
    error : the reason
    """

    uri: str
    error: ReadError

    def protects(self, uri: str) -> bool:
        """Whether a stored source with this URI may be what failed, so that its absence proves nothing."""
        return is_covered(uri, (self.uri,))


@contextmanager
def parser_errors(uri: str, kind: str, *, part: str = "", mend: str = "") -> Iterator[None]:
    """Turn whatever a reader raises on a broken file into a ReadError, so that one broken file does not stop the others.

    Third-party parsers raise more than they document, so no list of classes is complete. Errors of hlgraph pass, and so does
    MemoryError, which says nothing about the file.

    Parameters
    ----------
    uri : URI of the file
    kind : what it should be ("XLSX")
    part : the part of it that is read, default all
    mend : what the user can do about it, default nothing
    """
    try:
        yield
    except (HLGraphError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(clean(str(error)).split())[:_MOST_SHOWN] or type(error).__name__
        raise ReadError(uri, f"{part} cannot be read as {kind} ({said})".lstrip(), mend) from error


@contextmanager
def tolerated() -> Iterator[None]:
    """Leave out what a parser cannot read, where the text of the file is there without it; errors of hlgraph pass."""
    try:
        with parser_errors("", ""):
            yield
    except ReadError as error:
        if error.__cause__ is None:
            raise


def failure(uri: str, reason: str, *, mend: str = "") -> ReadFailure:
    """A :class:`ReadFailure` with its :class:`~hlgraph.errors.ReadError`.

    Parameters
    ----------
    uri : URI of what failed
    reason : why, as a predicate of the URI ("is empty")
    mend : what the user can do about it, default nothing
    """
    return ReadFailure(uri, ReadError(uri, reason, mend))


def not_installed(uri: str, missing: MissingExtraError) -> ReadFailure:
    """A :class:`ReadFailure` of a source whose reader needs an extra.

    Parameters
    ----------
    uri : URI of the source
    missing : what is not installed
    """
    error = ReadError(uri, str(missing))
    error.extra = missing.extra
    return ReadFailure(uri, error)
