"""The commands ``hlgraph backup`` and ``hlgraph restore``: a checked copy of a store, and the store made from it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.command import Invocation, argument, command, option

if TYPE_CHECKING:
    from hlgraph.ingest.exports import CorpusCopy
    from hlgraph.stores.protocols import Backup

PLACE = 85  # position in the list of commands

app = typer.Typer()


@command(app, "backup", "quiet")
def backup(cli: Invocation, target: Annotated[Path, argument("TARGET", "The folder of the backup.")]) -> None:
    """Back up a store, with all its corpora, to a folder; others may read and write meanwhile.

    The backup is one state of the store. What did not change since the last backup in TARGET is not written again. After a kill
    the last backup stays, and the same command goes on. The copy of an embedded store is checked as doctor does before it
    replaces the last backup. Of Neo4j and OpenSearch together, it holds an export of each corpus, with holds and domains.

    \b
    Examples:
      hlgraph --store hlgraph://./my-graph backup /backups/my-graph
      hlgraph --store neo4j://localhost:7687 backup /backups/servers
    """
    from hlgraph.sdk.backup import back_up

    with cli.progress("backing up"):
        done = back_up(cli.settings(), target)
    size = f"{done.files} files, {done.bytes:,} bytes, {done.written:,} written"
    fine = f"one state of {len(done.corpora)} corpora" if done.corpora else "the copy is fine"
    lines = [f"{done.target} holds the state of {done.at}: {size}", fine, *_unfinished(done)]
    cli.show(done, lines)


@command(app, "restore", "wait", "quiet")
def restore(
    cli: Invocation,
    backup: Annotated[Path, argument("BACKUP", "The folder that hlgraph backup wrote to.")],
    replace: Annotated[bool, option("--replace", "Replace the embedded store that is there.")] = False,
) -> None:
    """Make the store of --store from a backup.

    All of the backup is compared with its checksums first. If the restore of an embedded store is killed, the store is the old one
    or the new one, each as a whole. Programs that have the old store open must open it again.

    A backup of servers is restored to empty servers, or to a new embedded store. Nothing is visible before all of it is written;
    after a kill the same command continues.

    \b
    Examples:
      hlgraph --store neo4j://localhost:7687 restore /backups/servers
      hlgraph --store hlgraph://./my-graph restore /backups/my-graph
      hlgraph --store hlgraph://./my-graph restore /backups/my-graph --replace
    """
    from hlgraph.sdk.backup import restore as restored

    settings = cli.settings()
    with cli.progress("restoring"):
        done = restored(backup, settings, replace=replace)
    of = f"{len(done.corpora)} corpora, " if done.corpora else ""
    line = f"{settings.store} is the state of {done.at}: {of}{done.files} files, {done.bytes:,} bytes"
    cli.show({**asdict(done), "restored_to": settings.store}, [line, *_unfinished(done)])


@command(app, "export", "corpus", "wait", "quiet")
def export(cli: Invocation, folder: Annotated[Path, argument("FOLDER", "The folder of the export.")]) -> None:
    """Write a corpus to a folder that any store can import; others may search meanwhile, and write when it has ended.

    It holds records, links, vectors, merges, communities, summaries and the domain, with a checksum for each file. Equal
    corpora give equal bytes, whatever the store. A complete export of the same corpus in FOLDER is replaced. After a kill, the
    same command starts again.

    \b
    Example:
      hlgraph --store hlgraph://./my-graph export exports/my-corpus
    """
    with cli.connect("exporting") as graph:
        done = graph.export_corpus(folder)
    cli.show(done, [f"{done.folder} holds corpus {done.corpus!r}: {_counts(done)}, {done.bytes:,} bytes"])


@command(app, "import", "corpus", "wait", "quiet")
def import_(
    cli: Invocation, folder: Annotated[Path, argument("FOLDER", "The folder that hlgraph export wrote.")]
) -> None:
    """Make a corpus from an export; it must be empty. It appears as a whole or not at all, and no model is called.

    After a kill, the same command continues, or starts again. Under another name than that of the export all ids are computed
    again, and communities and summaries are left out: build them again.

    \b
    Examples:
      hlgraph --store neo4j://localhost:7687 import exports/my-corpus
      hlgraph --store hlgraph://./my-graph import exports/my-corpus --corpus second
    """
    with cli.connect("importing") as graph:
        done = graph.import_corpus(folder)
    lines = [f"corpus {done.corpus!r} has what {done.folder} holds: {_counts(done)}"]
    lines += [f"not imported under another name: {name}; build it again" for name in done.left_out]
    cli.show(done, lines)


def _counts(done: CorpusCopy) -> str:
    return f"{done.records.get('source', 0):,} sources, {done.records.get('statement', 0):,} statements"


def _unfinished(done: Backup) -> list[str]:
    return ["it has unfinished changes; the next ingest or delete finishes them"] if done.is_unfinished else []
