"""Copies of whole corpora: a corpus as it is read from a store in pieces, and as it is written to one, hidden until complete.

An export reads a corpus of any store, and an import writes it (:mod:`hlgraph.ingest.transfer`). A bulk load copies a corpus from
an embedded store to empty servers: the graph is written to files that the server imports while it is stopped; vectors and texts
follow once it runs again. No search sees a corpus before its last step makes it visible.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hlgraph.change import Change, Synonym
from hlgraph.errors import StoreError
from hlgraph.ids import WITH_NAME
from hlgraph.records import Calibration, Domain, Kind

IMPORT = "import"
"""The folder of the import files, in the folder of a bulk load."""
ARGUMENTS = "import.args"
"""The file with the arguments of ``neo4j-admin database import full``, in the folder of the import files."""
MANIFEST = "manifest.json"


class NamedEntity(NamedTuple):
    """An entity with the names and kinds of its mentions.

    Attributes
    ----------
    id, name, kind : as stored
    said : name, kind and number of mentions that use both, sorted; empty if the reader does not count them
    """

    id: str
    name: str
    kind: str
    said: tuple[tuple[str, str, int], ...]


class Relation(NamedTuple):
    """A RELATES link: two entities, the predicate, and the number of statements that support it."""

    subject_id: str
    object_id: str
    predicate: str
    facts: int


class CorpusReader(ABC):
    """Reads a whole corpus in pieces of bounded size, in an order that does not depend on the store. No writer may change it."""

    @abstractmethod
    def sources(self, *, has_facts: bool = True, among: Sequence[str] | None = None) -> Iterator[Change]:
        """All sources by ascending id, in batches, each with its chunks, topics, statements and the links that its chunks assert.

        Parameters
        ----------
        has_facts : whether each batch has the facts that its chunks assert
        among : ids of the sources to read; None: all
        """

    @abstractmethod
    def entities(self) -> Iterator[list[NamedEntity]]:
        """All entities by ascending id, in batches."""

    @abstractmethod
    def synonyms(self) -> Iterator[list[Synonym]]:
        """All SYNONYM links in batches, by the two ids, the lower one first."""


class BulkReader(CorpusReader):
    """A reader for import files, which have all facts, the counts of names, and the counted relationships."""

    @abstractmethod
    def facts(self) -> Iterator[Change]:
        """All facts in batches: only :attr:`Change.facts` is set."""

    @abstractmethod
    def relations(self) -> Iterator[list[Relation]]:
        """All RELATES links in batches."""


class Arrival(NamedTuple):
    """A corpus that is being imported.

    Attributes
    ----------
    id : hash of the export and the corpus: the same import has the same id again
    corpus : name of the corpus
    embedding, dimensions : model of its vectors; empty and 0 without vectors
    ids : scheme of its ids
    calibration : the scale of its cosines
    domain : its domain
    version : the least version that it has, so that a restored corpus never has one twice
    """

    id: str
    corpus: str
    embedding: str
    dimensions: int
    ids: int
    calibration: Calibration | None
    domain: Domain | None
    version: int = 0

    @property
    def mark(self) -> str:
        """The first half of the mark of the corpus, once it is visible; the other half is random, as no two states share a mark."""
        return self.id[:16]

    def new_mark(self) -> str:
        """A mark for the corpus."""
        return self.mark + uuid.uuid4().hex[16:]


class CorpusWriter(ABC):
    """Writes a new corpus, which stays invisible before :meth:`reveal`. Needs the lock of the corpus."""

    @abstractmethod
    def is_there(self) -> bool:
        """Whether the corpus is visible as this import made it, and was not changed since."""

    @abstractmethod
    def begin(self) -> int:
        """Hide the corpus; returns how many changes an interrupted call of the same import has written."""

    @abstractmethod
    def write(self, change: Change, place: int, *, beside: Callable[[], object] = tuple) -> None:
        """Write a change of new records, in one transaction.

        Parameters
        ----------
        change : the change; its vectors are not used
        place : its index among the changes of the import
        beside : writes to the vector store what belongs to it; called once
        """

    @abstractmethod
    def version(self) -> int:
        """The present version of the hidden corpus, which grows by one with every change."""

    @abstractmethod
    def reveal(self, records: Mapping[Kind, int]) -> None:
        """Make the corpus and its domain visible, in one transaction.

        Parameters
        ----------
        records : number of records of each kind that it must have

        Raises
        ------
        StoreError
            The store has other numbers.
        """


class Copies(ABC):
    """Reading and writing of the whole corpora of one store."""

    @abstractmethod
    def reader(self, corpus: str) -> CorpusReader:
        """The reader of a corpus."""

    @abstractmethod
    def writer(self, arrival: Arrival) -> CorpusWriter:
        """The writer of a corpus."""

    @abstractmethod
    def drop(self, corpus: str) -> None:
        """Remove a corpus that is still hidden. Needs the lock."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The corpora of which the store has anything: records, a domain, a hold or a receipt; without hidden ones."""


def check_counts(corpus: str, *, wanted: Mapping[Kind, int], present: Mapping[Kind, int]) -> None:
    """Raise StoreError if a hidden corpus does not have these numbers of records.

    Parameters
    ----------
    corpus : name of the corpus
    wanted, present : numbers by kind
    """
    wrong = [
        f"{present.get(kind, 0):,} of {number:,} {kind}"
        for kind, number in wanted.items()
        if present.get(kind, 0) != number
    ]
    if wrong:
        raise StoreError(
            f"corpus {corpus!r} is not as it was exported ({', '.join(wrong)}), and stays invisible; export it again, and import "
            "the new export"
        )


class ImportFile(NamedTuple):
    """An import file: its name, the number of its rows, its size in bytes and its SHA-256."""

    name: str
    rows: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of the import files.

    Attributes
    ----------
    id : id of the load; the mark of the corpus once it is visible
    corpus, database, label_prefix : destination of the files
    hlgraph : version of the program that wrote them
    version, embedding, dimensions, ids, calibration : of the corpus, see :class:`hlgraph.stores.protocols.CorpusStats`
    records, relationships : counts by kind
    files : the files
    """

    id: str
    corpus: str
    database: str
    label_prefix: str
    hlgraph: str
    version: int
    embedding: str
    dimensions: int
    ids: int = WITH_NAME
    calibration: Calibration | None = None
    records: Mapping[str, int] = field(default_factory=dict)
    relationships: Mapping[str, int] = field(default_factory=dict)
    files: tuple[ImportFile, ...] = ()


class Found(NamedTuple):
    """The state of a database before, during or after a bulk load.

    Attributes
    ----------
    load : id of the load whose files were imported and whose corpus is not visible yet; empty: none
    mark : mark of the present state of the corpus; empty: it is not there
    others : number of nodes of other kinds, by label; counting ends at 100,000 nodes
    """

    load: str
    mark: str
    others: Mapping[str, int]
