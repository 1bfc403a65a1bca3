"""A bulk load into a Neo4j database: the import files, and what is done before and after the server imports them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from hlgraph import progress
from hlgraph.change import Change
from hlgraph.stores import files, migrate
from hlgraph.stores.bulk_copies import ARGUMENTS, MANIFEST, CorpusReader, Found, Manifest
from hlgraph.stores.neo4j import import_files, rows
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.leases import Leases
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server

_POPULATION = 24 * 3_600
"""Seconds that the indexes of an imported graph may take."""
_MENDED = ("chunks", "placements", "entities", "mentions")


class Neo4jBulkGraph:
    """One database; see :class:`hlgraph.stores.bulk_copies.BulkGraph`.

    Parameters
    ----------
    server : the database
    leases : the rights to write to it
    """

    def __init__(self, server: Server, leases: Leases) -> None:
        self._server = server
        self._leases = leases

    def find(self, corpus: str) -> Found:
        """See :meth:`BulkGraph.find`."""
        row = self._server.ask("admin/find_load", corpus=corpus)[0]
        loads = [str(item) for item in row["loads"]] if isinstance(row["loads"], list) else []
        if len(loads) == 1 or row["mark"]:
            return Found(loads[0] if loads else "", str(row["mark"] or ""), {})
        found = self._server.ask("admin/count_labels", corpus=corpus)
        return Found("", "", {str(item["label"]): whole(item, "number") for item in found})

    def write_files(self, reader: CorpusReader, folder: Path, *, manifest: Manifest) -> Manifest:
        """See :meth:`BulkGraph.write_files`."""
        total = manifest.records.get("statement", 0)
        with progress.step("write files", total, unit="statements"):
            written = import_files.write(
                reader, folder, corpus=manifest.corpus, load=manifest.id, prefix=manifest.label_prefix
            )
        whole_manifest = replace(manifest, files=written)
        with files.write_bytes(folder / MANIFEST) as out:
            out.write(msgspec.json.format(msgspec.json.encode(whole_manifest), indent=2))
        return whole_manifest

    def command(self, manifest: Manifest) -> tuple[str, ...]:
        """See :meth:`BulkGraph.command`."""
        return ("neo4j-admin", "database", "import", "full", f"@{ARGUMENTS}", manifest.database)

    def forget(self) -> None:
        """See :meth:`BulkGraph.forget`."""
        self._server.forget()

    @contextlib.contextmanager
    def lock(self, corpus: str) -> Iterator[None]:
        """See :meth:`BulkGraph.lock`."""
        migrate.apply(Neo4jTarget(self._server, leases=self._leases, population=_POPULATION))
        with self._leases.held(corpus):
            yield

    def complete(self, manifest: Manifest, reader: CorpusReader) -> None:
        """See :meth:`BulkGraph.complete`."""
        with progress.step("complete", manifest.records.get("source", 0), unit="sources"):
            self._server.schema(self._server.text(f"persist/mend_lists_of_{name}") for name in _MENDED)
            for change in reader.sources():
                self._write_sources(change)
                progress.advance("complete", len(change.sources))

    def _write_sources(self, change: Change) -> None:
        found = rows.source_rows(change)
        self._server.write(lambda transaction: transaction.write("persist/merge_sources", found))

    def counts(self, corpus: str) -> tuple[dict[str, int], dict[str, int]]:
        """See :meth:`BulkGraph.counts`."""
        found = (
            {str(row[column]): whole(row, "number") for row in self._server.ask(name, corpus=corpus)}
            for name, column in (("admin/count_records", "kind"), ("admin/count_relationships", "relationship"))
        )
        records, relationships = found
        return records, relationships

    def show(self, manifest: Manifest) -> None:
        """See :meth:`BulkGraph.show`."""
        scale = manifest.calibration
        values = {
            "load": manifest.id,
            "name": manifest.corpus,
            "ids": manifest.ids,
            "version": manifest.version,
            "embedding": manifest.embedding,
            "dimensions": manifest.dimensions,
            "calibration": None if scale is None else msgspec.json.encode(scale).decode(),
        }
        self._server.write(lambda transaction: transaction.rows("persist/show_corpus", **values))
