"""The report of a bulk load, for scripts and for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from hlgraph.cli.output import report_lines, report_tree

if TYPE_CHECKING:
    from hlgraph.ingest.bulk_load import BulkReport


def bulk_tree(report: BulkReport) -> dict[str, object]:
    """The report as printed by --json; ``run`` is what has to be run next, empty once the corpus is on the servers."""
    manifest = report.manifest
    return {
        "load": {
            "is_done": report.is_done,
            "id": manifest.id,
            "corpus": manifest.corpus,
            "database": manifest.database,
            "folder": str(report.folder),
            "run": list(report.command),
            "records": dict(manifest.records),
            "relationships": dict(manifest.relationships),
            "bytes": sum(item.size for item in manifest.files),
            "seconds": {phase: round(seconds, 3) for phase, seconds in report.seconds.items()},
        },
        "ingest": None if report.ingest is None else report_tree(report.ingest),
    }


def bulk_lines(report: BulkReport) -> list[str]:
    """The report as lines for people."""
    manifest = report.manifest
    lines = [] if report.ingest is None else report_lines(report.ingest)
    records, relationships = (sum(part.values()) for part in (manifest.records, manifest.relationships))
    if report.is_done:
        lines.append(
            f"loaded: corpus {manifest.corpus} with {records:,} records and {relationships:,} relationships; verified"
        )
        lines.append(f"{report.folder.parent}: it is not needed any more; remove it")
    else:
        size = sum(item.size for item in manifest.files) / 1e6
        lines += [
            f"written: {records:,} records and {relationships:,} relationships, {size:,.1f} MB, in {report.folder}",
            f"next: stop Neo4j, run on its machine: cd {shlex.quote(str(report.folder))} && {shlex.join(report.command)}",
            "then: start Neo4j, and run this command again",
        ]
    seconds = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in report.seconds.items())
    return [*lines, f"time of the load: {seconds}"] if seconds else lines
