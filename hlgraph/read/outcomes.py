"""Which files a run found, and what became of each: read, unchanged, left out or failed, so that the counts add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

HIDDEN = "hidden"
HIDDEN_FOLDER = "hidden folder with all that is in it"
WALKED = "link to a folder that is read anyway"


class LeftOut(NamedTuple):
    """A file, or a folder with all that is in it, that a folder or glob holds and that was not read.

    Attributes
    ----------
    uri : where it is; a folder ends in ``/``
    reason : why it was not read
    """

    uri: str
    reason: str


class _State(IntEnum):
    """What became of a file; where its rows differ, the highest counts."""

    FAILED = 0
    FOUND = 1
    UNCHANGED = 2
    READ = 3


@dataclass(slots=True)
class Files:
    """The files of a run: ``found`` is the sum of ``read``, ``unchanged``, ``left_out`` and ``failed``.

    A file of rows counts once: as read if any row is new or changed, else as unchanged if any row is stored, else as failed if
    any row failed. Documents that the caller gives are no files. A path that does not exist counts as found and failed.

    Attributes
    ----------
    left_out : files and folders that were not read, each with its reason
    size : bytes of the files, and characters of the documents, that were read so far
    """

    left_out: list[LeftOut] = field(default_factory=list)
    size: int = field(default=0, compare=False)
    _states: dict[str, _State] = field(default_factory=dict, repr=False)

    @property
    def found(self) -> int:
        """Number of files found, with those that were left out."""
        return len(self._states) + len(self.left_out)

    @property
    def read(self) -> int:
        """Number of files that were read and gave something new, or that hold nothing, such as a table without rows."""
        return self._count(_State.READ) + self._count(_State.FOUND)

    @property
    def unchanged(self) -> int:
        """Number of files that are stored as they are."""
        return self._count(_State.UNCHANGED)

    @property
    def failed(self) -> int:
        """Number of files that gave nothing but failures."""
        return self._count(_State.FAILED)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The reasons of what was left out, with their counts, the most frequent first."""
        return sorted(Counter(item.reason for item in self.left_out).items(), key=lambda pair: (-pair[1], pair[0]))

    def leave_out(self, uri: str, reason: str) -> None:
        """Note a file that is not read.

        Parameters
        ----------
        uri : where it is
        reason : why
        """
        self.left_out.append(LeftOut(uri, reason))

    def find(self, uri: str) -> None:
        """Note a file that is about to be read, or a path that fails."""
        self._states.setdefault(_file(uri), _State.FOUND)

    def fail(self, uri: str) -> None:
        """Note that a file, or a row of it, could not be read; ignored for a document that is not of a file."""
        name = _file(uri)
        if self._states.get(name) is _State.FOUND:
            self._states[name] = _State.FAILED

    def store(self, uri: str, *, is_new: bool) -> None:
        """Note that a document is stored, or was before; ignored for one that is not of a file.

        Parameters
        ----------
        uri : of the document
        is_new : whether it is new or changed
        """
        name = _file(uri)
        if name in self._states:
            self._states[name] = max(self._states[name], _State.READ if is_new else _State.UNCHANGED)

    def _count(self, state: _State) -> int:
        return sum(item is state for item in self._states.values())


def _file(uri: str) -> str:
    """The file of a document: without the row, and for standard input without the hash of its text."""
    uri = str(uri)  # a document of a caller may hold anything, and fails later by itself
    return "stdin:" if uri.startswith("stdin:") else uri.partition("#")[0]
