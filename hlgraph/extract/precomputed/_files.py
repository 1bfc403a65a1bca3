"""Reads files of records into an index by id; lists unusable lines as problems."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hlgraph.errors import ExtractionError
from hlgraph.extract.precomputed._records import LineError, Record, read_record

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Index:
    """The content of several files.

    Attributes
    ----------
    records : records by id
    problems : descriptions of unusable lines, in the order of the files
    broken : by id, the problem of an unusable line that names it
    digest : SHA-256 of all lines
    """

    records: dict[str, list[Record]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    digest: str = ""


def read_files(paths: Sequence[Path]) -> Index:
    """The index of several files.

    An invalid line, a truncated gzip stream, and a second record that contradicts the first in its file are problems; the
    rest of the file is used.

    Raises
    ------
    ExtractionError
        A file cannot be opened, or holds no record at all.
    """
    index = Index()
    digest = hashlib.sha256()
    for path in paths:
        seen: dict[tuple[str, str, int | None], Record] = {}
        before = len(index.problems)
        for number, line in _lines(path, index.problems):
            digest.update(line + b"\n")
            try:
                record = read_record(line)
            except LineError as error:
                problem = f"{path}, line {number}: {error}"
                index.problems.append(problem)
                if error.key:
                    index.broken[error.key] = problem
                continue
            _add(index, seen, record, where=f"{path}, line {number}")
        if not seen:
            first = f": {index.problems[before]}" if len(index.problems) > before else ""
            raise ExtractionError(f"{path}: the file holds no record{first or '; is it the right file?'}")
    index.digest = digest.hexdigest()
    return index


def _lines(path: Path, problems: list[str]) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line that is not blank."""
    number = 0
    try:
        with path.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            with gzip.open(file) if magic == _GZIP else file as stream:
                for number, raw in enumerate(stream, start=1):
                    line = raw.removeprefix(_BOM).strip() if number == 1 else raw.strip()
                    if line:
                        yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problems.append(f"{path}: the gzip stream is cut off after line {number} ({error}); copy the file again")
    except OSError as error:
        raise ExtractionError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from error


def _add(index: Index, seen: dict[tuple[str, str, int | None], Record], record: Record, *, where: str) -> None:
    place = (record.key, record.form.value, record.chunk)
    earlier = seen.get(place)
    if earlier is None:
        seen[place] = record
        records = index.records.setdefault(record.key, [])
        if record not in records:  # the same record in two files counts once
            records.append(record)
    elif earlier != record:
        index.problems.append(
            f"{where}: a second, different record for {record.key!r} is ignored; give each id once per file"
        )
