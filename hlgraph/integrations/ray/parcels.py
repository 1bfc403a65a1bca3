"""What goes from stage to stage: a batch of sources with all that was found out about it, packed as one row of a table."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from hlgraph.errors import HLGraphError
from hlgraph.ingest.pipeline import Ready, Report, StoredChunks
from hlgraph.persist import Comparison, Extracted
from hlgraph.records import Document

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMN = "parcel"
_Item = TypeVar("_Item")


class Part(NamedTuple):
    """Sources that one task reads: paths, or documents.

    Attributes
    ----------
    characters : of the documents of one parcel, about
    taken : uris that are read elsewhere in this ingest
    """

    characters: int
    paths: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    taken: frozenset[str] = frozenset()


@dataclass(slots=True)
class Parcel:
    """A batch of sources on its way; each stage takes what it needs out and puts what it made in.

    Attributes
    ----------
    report : what is to be added to that of the ingest
    uris : of all documents that were read
    kept, left_out : see :class:`hlgraph.models.accounts.usage.Usage`
    error : what ended the ingest here; the stages that follow leave the parcel alone
    """

    report: Report
    uris: tuple[str, ...] = ()
    documents: list[Document] = field(default_factory=list)
    changed: list[Comparison] = field(default_factory=list)
    stored: StoredChunks = field(default_factory=dict)
    extracted: list[Extracted] = field(default_factory=list)
    ready: Ready | None = None
    kept: int = 0
    left_out: int = 0
    error: HLGraphError | None = None


def packed(item: object) -> pa.Table:
    """A table of one row, shape ``(1, 1)``."""
    import pyarrow as pa

    return pa.table({_COLUMN: pa.array([pickle.dumps(item)], pa.large_binary())})


def unpacked(table: pa.Table, kind: type[_Item]) -> list[_Item]:
    """The items of the rows of a table."""
    found = [pickle.loads(value.as_py()) for value in table[_COLUMN]]  # noqa: S301 - packed by a process of this ingest
    if not all(isinstance(item, kind) for item in found):
        raise TypeError(f"a stage was given {', '.join({type(item).__name__ for item in found})}, not {kind.__name__}")
    return cast("list[_Item]", found)
