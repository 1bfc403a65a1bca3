"""Write a corpus as import files for ``neo4j-admin database import full``.

There is one gzipped CSV file per label or relationship type. The rows are those that an ordinary ingest sends
(:mod:`hlgraph.stores.neo4j.rows`), with three differences:

- Only the id of a source is written. A CSV column has one type, but the types of metadata vary between sources.
- CSV cannot represent an empty list, or a list of one empty text. The import omits an empty list. ``ONE_EMPTY`` stands for a
  list of one empty text. The queries ``persist/mend_lists_of_*`` restore both once the server runs.
- The corpus itself has no node yet. A ``BulkLoad`` node records which load was imported.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hlgraph import progress
from hlgraph.change import Change
from hlgraph.errors import InputError
from hlgraph.stores import files, migrate
from hlgraph.stores.bulk_copies import ARGUMENTS, MANIFEST, BulkReader, Found, ImportFile, Manifest, NamedEntity
from hlgraph.stores.neo4j import rows
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.publish import name_rows, uncounted
from hlgraph.stores.neo4j.server import Row, Server, Value

BETWEEN = "\ufdd0"
"""Separates the items of a list. Unicode reserves this character for internal use, so a text should not contain it."""
ONE_EMPTY = "\ufdd1"
"""Stands for a list of one empty text until the list is restored."""
_LEVEL = 1
_LEAST_BUFFER = 4 << 20
_LIST = "[]"


class _Column(NamedTuple):
    """A column: its graph property, its key in a row, and its ``neo4j-admin`` type. An empty type means text."""

    name: str
    key: str
    type: str = ""


class _Table(NamedTuple):
    """A file: its name, its label or relationship type, and its columns. A relationship starts with its two end node ids."""

    name: str
    label: str
    columns: tuple[_Column, ...]
    is_node: bool


def _node(name: str, label: str, *columns: str) -> _Table:
    return _Table(name, label, tuple(map(_column, ("id:ID", "corpus", *columns))), is_node=True)


def _link(name: str, label: str, start: str, end: str, *columns: str) -> _Table:
    ends = (_Column("", start, "START_ID"), _Column("", end, "END_ID"))
    return _Table(name, label, (*ends, *map(_column, columns)), is_node=False)


def _column(text: str) -> _Column:
    """Parse a column from ``name=key:type``."""
    named, _, kind = text.partition(":")
    name, _, key = named.partition("=")
    return _Column(name, key or name, kind)


_TABLES = (
    _node("loads", "BulkLoad"),
    _node("sources", "Source"),
    _node(
        *("chunks", "Chunk", "source_id=source", "text", "start:long", "end:long", "position:long", "tokens:long"),
        *("headings:string[]", "page:long", "fingerprint"),
    ),
    _node("topics", "Topic", "source_id", "name"),
    _node("statements", "Statement", "source_id", "text"),
    _node("facts", "Fact", "predicate", "complement"),
    _node(
        *("entities", "Entity", "name", "kind", "aliases:string[]", "name_surfaces=surfaces:string[]"),
        *("name_kinds=kinds:string[]", "name_counts=counts:long[]"),
    ),
    _link("from_sources", "FROM_SOURCE", "id", "source"),
    _link("next_chunks", "NEXT", "id", "next"),
    _link(
        *("placements", "IN_CHUNK", "statement_id", "chunk_id"),
        *("ordinal:long", "start:long", "end:long", "details:string[]"),
    ),
    _link("namings", "IN_CHUNK", "topic_id", "chunk_id", "name"),
    _link("abouts", "ABOUT", "statement_id", "topic_id", "chunks:string[]"),
    _link(
        *("mentions", "MENTIONS", "statement_id", "entity_id"),
        *("chunks:string[]", "surfaces:string[]", "kinds:string[]"),
    ),
    _link("supports", "SUPPORTS", "fact_id", "statement_id", "chunks:string[]"),
    _link("subjects", "SUBJECT", "subject_id", "id"),
    _link("objects", "OBJECT", "object_id", "id"),
    _link("relations", "RELATES", "subject_id", "object_id", "predicate", "facts:long"),
    _link("synonyms", "SYNONYM", "a", "b", "similarity:double"),
)


def write(reader: BulkReader, folder: Path, *, corpus: str, load: str, prefix: str) -> tuple[ImportFile, ...]:
    """Write all import files of a corpus, and the file with the import arguments.

    Parameters
    ----------
    reader : reads the corpus
    folder : an empty folder
    corpus : name of the corpus
    load : id of the load
    prefix : label prefix, from the setting ``neo4j.label_prefix``

    Returns
    -------
    tuple of ImportFile

    Raises
    ------
    InputError
        A text contains one of the two characters that the import files reserve.
    """
    with ExitStack() as closing:
        import_files = {table.name: closing.enter_context(_File(folder, table, corpus=corpus)) for table in _TABLES}
        import_files["loads"].write([{"id": load}])
        for change in reader.sources(has_facts=False):
            for name, batch in _of_sources(change):
                import_files[name].write(batch)
            progress.advance("write files", len(change.statements))
        for change in reader.facts():
            facts = rows.fact_rows(change)
            import_files["facts"].write(facts)
            import_files["subjects"].write(facts)
            import_files["objects"].write(rows.object_rows(change))
        for entities in reader.entities():
            import_files["entities"].write(_entity_rows(entities))
        for relations in reader.relations():
            import_files["relations"].write(item._asdict() for item in relations)
        for synonyms in reader.synonyms():
            import_files["synonyms"].write(item._asdict() for item in synonyms)
    longest = max(file.longest for file in import_files.values())
    _write_arguments(folder, prefix=prefix, buffer=max(_LEAST_BUFFER, 4 * longest))
    return tuple(file.entry() for file in import_files.values())


def _write_arguments(folder: Path, *, prefix: str, buffer: int) -> None:
    options = (f"nodes={prefix}" if table.is_node else "relationships=" for table in _TABLES)
    lines = [f"--{option}{table.label}=./{table.name}.csv.gz" for option, table in zip(options, _TABLES, strict=True)]
    lines += ["--id-type=string", f"--array-delimiter=U+{ord(BETWEEN):04X}", "--multiline-fields=true"]
    lines += [f"--read-buffer-size={buffer}", "--overwrite-destination"]
    with files.write_bytes(folder / ARGUMENTS) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())


def _of_sources(change: Change) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield the rows of a batch of sources and all their records, by file name."""
    chunks = rows.chunk_rows(change)
    yield "sources", [{"id": item.id} for item in change.sources]
    yield "chunks", chunks
    yield "from_sources", chunks
    yield "next_chunks", rows.next_rows(change)
    yield "topics", rows.topic_rows(change)
    yield "statements", rows.statement_rows(change)
    yield "placements", rows.placement_rows(change)
    yield "namings", rows.naming_rows(change)
    yield "abouts", rows.about_rows(change)
    yield "mentions", rows.mention_rows(change)
    yield "supports", rows.support_rows(change)


def _entity_rows(entities: Sequence[NamedEntity]) -> list[Row]:
    counts = {item.id: Counter({(name, kind): number for name, kind, number in item.said}) for item in entities}
    entity_rows = name_rows(uncounted(counts), counts)
    for row, item in zip(entity_rows, entities, strict=True):
        if row["name"] is None:
            row["name"], row["kind"] = item.name, item.kind
    return entity_rows


class _File:
    """Context manager that writes one import file.

    Attributes
    ----------
    longest : size of the longest row in bytes
    """

    def __init__(self, folder: Path, table: _Table, *, corpus: str) -> None:
        self.longest = 0
        self._rows = 0
        self._table = table
        self._corpus = _text(corpus)
        self._path = folder / f"{table.name}.csv.gz"
        self._raw = files.write_bytes(self._path)
        self._out = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, compresslevel=_LEVEL, mtime=0)
        self._out.write((",".join(_header(column) for column in table.columns) + "\n").encode())

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows; values without a column are left out."""
        keys = [(column.key, column.type.endswith(_LIST)) for column in self._table.columns]
        lines: list[bytes] = []
        for row in rows:
            values = (
                self._corpus if key == "corpus" else _listed(row[key]) if is_list else _value(row[key])
                for key, is_list in keys
            )
            lines.append((",".join(values) + "\n").encode())
        if lines:
            self._rows += len(lines)
            self.longest = max(self.longest, *map(len, lines))
            self._out.write(b"".join(lines))

    def entry(self) -> ImportFile:
        """Return the manifest entry of the file. The file must be closed."""
        with self._path.open("rb") as data:
            digest = hashlib.file_digest(data, "sha256").hexdigest()
        return ImportFile(self._path.name, self._rows, self._path.stat().st_size, digest)


def _header(column: _Column) -> str:
    return f"{column.name}:{column.type}" if column.type else column.name


def _value(value: Value) -> str:
    """Format a field: None as an empty field, a number as it is, a text in quotes."""
    if value is None:
        return ""
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _listed(value: list[str | int]) -> str:
    """Format a list of numbers or texts as one field, separated by ``BETWEEN``."""
    if value == [""]:
        return ONE_EMPTY
    texts = [str(item) for item in value]
    for text in texts:
        if BETWEEN in text or ONE_EMPTY in text:
            raise InputError(
                f"{text[:80]!a}: it has the character U+FDD0 or U+FDD1, which import files use themselves; remove the character "
                "from the source, or ingest without --bulk"
            )
    return _text(BETWEEN.join(texts)) if texts else ""


# Steps before and after the server imports the files.


_POPULATION = 24 * 3_600
"""Maximum time in seconds to populate the indexes of an imported graph."""
_MENDED = (
    "persist/mend_lists_of_chunks",
    "persist/mend_lists_of_placements",
    "persist/mend_lists_of_entities",
    "persist/mend_lists_of_mentions",
)


class Neo4jBulkGraph:
    """A database that receives a corpus from import files.

    Parameters
    ----------
    server : the database
    leases : the write leases of the database
    """

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def find(self, corpus: str) -> Found:
        """Return the state of the database: what earlier loads left in it.

        Parameters
        ----------
        corpus : the corpus to load
        """
        row = self._server.ask("admin/find_load", corpus=corpus)[0]
        loads = row["loads"]
        if len(loads) == 1 or row["mark"]:
            return Found(loads[0] if loads else "", row["mark"] or "", {})
        counts = self._server.ask("admin/count_labels", corpus=corpus)
        return Found("", "", {item["label"]: item["number"] for item in counts})

    def write_files(self, reader: BulkReader, folder: Path, *, manifest: Manifest) -> Manifest:
        """Write the import files, their arguments and the manifest to a folder. Return the manifest with its list of files.

        Parameters
        ----------
        reader : reads the corpus
        folder : an empty folder
        manifest : description of the corpus; written last

        Raises
        ------
        InputError
            A text contains one of the two characters that the import files reserve.
        """
        total = manifest.records.get("statement", 0)
        with progress.step("write files", total, unit="statements"):
            written = write(reader, folder, corpus=manifest.corpus, load=manifest.id, prefix=manifest.label_prefix)
        whole_manifest = replace(manifest, files=written)
        with files.write_bytes(folder / MANIFEST) as out:
            out.write(msgspec.json.format(msgspec.json.encode(whole_manifest), indent=2))
        return whole_manifest

    def command(self, manifest: Manifest) -> tuple[str, ...]:
        """Return the command that imports the files. Run it in their folder, on the machine of the stopped server."""
        return ("neo4j-admin", "database", "import", "full", f"@{ARGUMENTS}", manifest.database)

    def forget(self) -> None:
        """Discard the bookmarks of the database that the import replaced."""
        self._server.forget()

    @contextlib.contextmanager
    def lock(self, corpus: str) -> Iterator[None]:
        """Create the schema, then hold the write lock of a corpus.

        Parameters
        ----------
        corpus : the corpus
        """
        migrate.apply(Neo4jTarget(self._server, leases=self._leases, population=_POPULATION))
        with self._leases.held(corpus):
            yield

    def complete(self, manifest: Manifest, reader: BulkReader) -> None:
        """Restore lists and write source metadata, which import files cannot represent.

        Running it again changes nothing. The caller must hold the lock.

        Parameters
        ----------
        manifest : manifest of the imported files
        reader : reads the corpus
        """
        with progress.step("complete", manifest.records.get("source", 0), unit="sources"):
            self._server.schema(self._server.text(name) for name in _MENDED)
            for change in reader.sources(has_facts=False):
                self._write_sources(rows.source_rows(change))
                progress.advance("complete", len(change.sources))

    def _write_sources(self, source_rows: list[Row]) -> None:
        self._server.write(lambda transaction: transaction.write("persist/merge_sources", source_rows))

    def counts(self, corpus: str) -> tuple[dict[str, int], dict[str, int]]:
        """Count the records and the relationships of a corpus by kind, whether or not the corpus is visible."""
        records = self._server.ask("admin/count_records", corpus=corpus)
        relationships = self._server.ask("admin/count_relationships", corpus=corpus)
        return (
            {row["kind"]: row["number"] for row in records},
            {row["relationship"]: row["number"] for row in relationships},
        )

    def show(self, manifest: Manifest) -> None:
        """Make the corpus visible, in one transaction. The caller must hold the lock.

        Parameters
        ----------
        manifest : manifest of the imported files
        """
        scale = manifest.calibration
        values = {name: getattr(manifest, name) for name in ("ids", "version", "embedding", "dimensions")}
        values |= {"load": manifest.id, "name": manifest.corpus}
        values["calibration"] = None if scale is None else msgspec.json.encode(scale).decode()
        self._server.write(lambda transaction: transaction.rows("persist/show_corpus", **values))
