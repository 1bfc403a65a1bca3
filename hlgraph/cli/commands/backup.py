"""The commands ``hlgraph backup`` and ``hlgraph restore``: a checked copy of a store, and the store made from it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, Where, argument, command, option
from hlgraph.cli.commands.search import AsOf
from hlgraph.errors import InputError

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


@command(app, "export", "corpus", "caller", "wait", "quiet")
def export(
    cli: Invocation,
    folder: Annotated[Path, argument("PATH", "The folder or file of the export.")],
    form: Annotated[
        Literal["corpus", "graphml", "gexf", "parquet", "jsonld"] | None,
        option(
            "--format",
            "corpus (a folder that hlgraph import reads), graphml or gexf (Gephi): entities and facts; parquet (a folder of three "
            "tables: nodes, edges, vectors) or jsonld (with PROV-O): all. Default: the suffix of PATH, else corpus.",
        ),
    ] = None,
    where: Where = None,
    as_of: AsOf = None,
) -> None:
    """Write a corpus to a folder that any store can import, or its graph to a file of other tools.

    The folder holds records, links, vectors, merges, communities, summaries and the domain, with a checksum for each file. Equal
    corpora give equal bytes, whatever the store. Others may search meanwhile, and write when it has ended. A complete export of
    the same corpus in PATH is replaced. After a kill, the same command starts again.

    A file of another format holds what the caller may see, what --where admits, and what was there --as-of.

    \b
    Examples:
      hlgraph --store hlgraph://./my-graph export exports/my-corpus
      hlgraph export bridges.gexf --where 'category = "structure"'
      hlgraph export tables --format parquet --as finance
    """
    from hlgraph.sdk.graph_formats import FORMATS

    named = next((name for name in FORMATS if folder.suffix.lower() == f".{name}"), None)
    other = named if form is None else None if form == "corpus" else form
    if other is None:
        if where is not None or as_of is not None:
            raise InputError("--where and --as-of are for files of other tools; leave them out, or name a --format")
        with cli.connect("exporting") as graph:
            done = graph.export_corpus(folder)
        lines = [f"{done.folder} holds corpus {done.corpus!r}: {_counts(done)}, {done.bytes:,} bytes"]
        cli.show(done, [*lines, *(_BESIDE[name].format(name=done.corpus) for name in done.left_out)])
        return
    with cli.connect("exporting") as graph:
        written = graph.export_graph(folder, format=other, where=where, as_of=as_of)
    nodes, edges = sum(written.nodes.values()), sum(written.edges.values())
    links = f", {edges:,} edges" if edges else ""
    cli.show(written, [f"{written.path}: {nodes:,} nodes{links}, {written.bytes:,} bytes"])


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


_BESIDE = {
    "history": "not in it: the history; export it to another folder: hlgraph export FOLDER --corpus {name}@history",
    "holds": "not in it: the holds; add them after the import: hlgraph hold add",
}


def _counts(done: CorpusCopy) -> str:
    return f"{done.records.get('source', 0):,} sources, {done.records.get('statement', 0):,} statements"


def _unfinished(done: Backup) -> list[str]:
    return ["it has unfinished changes; the next ingest or delete finishes them"] if done.is_unfinished else []
