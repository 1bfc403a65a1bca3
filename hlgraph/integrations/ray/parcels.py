"""The data passed between stages: a batch of sources with the results so far, pickled into one row of a table."""

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
    """The sources that one task reads: paths or documents.

    Attributes
    ----------
    characters : approximate number of characters per parcel
    paths : files and S3 objects
    documents : documents given by the caller
    taken : URIs that are read elsewhere in this ingest
    """

    characters: int
    paths: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    taken: frozenset[str] = frozenset()


@dataclass(slots=True)
class Parcel:
    """A batch of sources on its way through the stages; each stage takes out its input and puts in its output.

    Attributes
    ----------
    report : to be added to the report of the ingest
    uris : URIs of all documents that were read
    documents : output of reading
    changed, stored : output of comparing: changed documents, and their stored chunks
    extracted : output of chunking, completed by extracting
    ready : output of embedding, None before
    kept, left_out : see :class:`hlgraph.models.accounts.usage.Usage`
    error : the error that ends the ingest here; later stages skip the parcel
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
    """A table of shape ``(1, 1)`` that holds the pickled item."""
    import pyarrow as pa

    return pa.table({_COLUMN: pa.array([pickle.dumps(item)], pa.large_binary())})


def unpacked(table: pa.Table, kind: type[_Item]) -> list[_Item]:
    """The items in the rows of a table.

    Parameters
    ----------
    table : made by :func:`packed`, or several such concatenated
    kind : type of the items

    Raises
    ------
    TypeError
        An item has another type.
    """
    found = [pickle.loads(value.as_py()) for value in table[_COLUMN]]  # noqa: S301 - packed by a process of this ingest
    if not all(isinstance(item, kind) for item in found):
        raise TypeError(f"a stage got {', '.join({type(item).__name__ for item in found})}, not {kind.__name__}")
    return cast("list[_Item]", found)
