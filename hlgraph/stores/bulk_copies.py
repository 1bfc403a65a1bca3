"""The data of a bulk load: the corpus as it is read from a store in pieces, and the manifest of the import files.

A bulk load copies a corpus from an embedded store to empty servers. The graph is written to files that the server imports while
it is stopped; vectors and texts follow once it runs again. No search sees the corpus before its last step makes it visible.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hlgraph.change import Change, Synonym
from hlgraph.ids import WITH_NAME
from hlgraph.records import Calibration

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
    said : name, kind and number of mentions that use both, sorted
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
    """Reads a whole corpus in pieces of bounded size, always in the same order."""

    @abstractmethod
    def sources(self) -> Iterator[Change]:
        """All sources in batches, each with its chunks, topics and statements and the links that its chunks assert."""

    @abstractmethod
    def facts(self) -> Iterator[Change]:
        """All facts in batches: only :attr:`Change.facts` is set."""

    @abstractmethod
    def entities(self) -> Iterator[list[NamedEntity]]:
        """All entities in batches."""

    @abstractmethod
    def relations(self) -> Iterator[list[Relation]]:
        """All RELATES links in batches."""

    @abstractmethod
    def synonyms(self) -> Iterator[list[Synonym]]:
        """All SYNONYM links in batches."""


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
