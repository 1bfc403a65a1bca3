"""The outcome of each file of a run: read, unchanged, left out or failed. The counts add up to the files found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

HIDDEN = "hidden"
HIDDEN_FOLDER = "hidden folder with all that is in it"
EMPTY = "empty"
SETTINGS = "settings of hlgraph, which may hold passwords"
STORE = "store of hlgraph with all that is in it"
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
    """Outcome of a file. If its rows differ, the highest value counts."""

    FAILED = 0
    FOUND = 1
    UNCHANGED = 2
    READ = 3


@dataclass(slots=True)
class Files:
    """The files of a run: ``found`` is the sum of ``read``, ``unchanged``, ``left_out`` and ``failed``.

    A file of rows counts once: as read if any row is new or changed, else as unchanged if any row is stored, else as failed if
    any row failed. Documents that the caller gives are not files. A path that does not exist counts as found and failed.

    Attributes
    ----------
    left_out : files and folders that were not read, each with its reason
    size : bytes of the files plus characters of the documents that were read so far
    """

    left_out: list[LeftOut] = field(default_factory=list)
    size: int = field(default=0, compare=False)
    _states: dict[str, _State] = field(default_factory=dict, repr=False)

    @property
    def found(self) -> int:
        """Number of files found, including those left out."""
        return len(self._states) + len(self.left_out)

    @property
    def read(self) -> int:
        """Number of files that gave a new or changed document, or that are empty, such as a table without rows."""
        return self._count(_State.READ) + self._count(_State.FOUND)

    @property
    def unchanged(self) -> int:
        """Number of files whose stored documents are current."""
        return self._count(_State.UNCHANGED)

    @property
    def failed(self) -> int:
        """Number of files that gave nothing but failures."""
        return self._count(_State.FAILED)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The reasons why files were left out, with their counts, the most frequent first."""
        return sorted(Counter(file.reason for file in self.left_out).items(), key=lambda pair: (-pair[1], pair[0]))

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
        """Note that a file, or a row of it, could not be read; ignored for a document that does not come from a file."""
        name = _file(uri)
        if self._states.get(name) is _State.FOUND:
            self._states[name] = _State.FAILED

    def store(self, uri: str, *, is_new: bool) -> None:
        """Note that a document is stored, or was stored before; ignored for one that does not come from a file.

        Parameters
        ----------
        uri : of the document
        is_new : whether it is new or changed
        """
        name = _file(uri)
        if name in self._states:
            self._states[name] = max(self._states[name], _State.READ if is_new else _State.UNCHANGED)

    def _count(self, state: _State) -> int:
        return sum(other is state for other in self._states.values())


def _file(uri: str) -> str:
    """The file of a document: without the row, and for standard input without the hash of its text."""
    uri = str(uri)  # a caller's document may hold anything; a check elsewhere reports it
    return "stdin:" if uri.startswith("stdin:") else uri.partition("#")[0]
