"""Read files of JSON lines into records; an error names the line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from hlgraph.errors import ReadError

_Row = TypeVar("_Row")


def json_lines(
    path: str | Path,
    kind: type[_Row],
    *,
    mend: str,
    unreadable: str = "give a readable file of JSON lines",
    what: str = "",
) -> Iterator[tuple[int, _Row]]:
    """The records of a file with their line numbers; empty lines are skipped.

    Parameters
    ----------
    path : the file
    kind : type of the records
    mend : remedy for a line that is no such record
    unreadable : remedy for a file that cannot be read
    what : text before the reason why a line is no record

    Raises
    ------
    ReadError
        The file cannot be read, or a line is no such record (the message has its number).
    """
    decoder = msgspec.json.Decoder(kind)
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ReadError(str(path), error.strerror or str(error), unreadable) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise ReadError(f"{path}, line {number}", f"{what}{error}", mend) from error
