"""hlgraph ingest, hlgraph delete."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.output import note, print_json, report_lines, report_tree
from hlgraph.cli.state import Corpus, Json, State, Where
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlgraph.pipeline import Progress, Report


def _pairs(values: list[str]) -> dict[str, str]:
    """``field=column,field=column`` as a mapping."""
    pairs = [part.partition("=") for value in values for part in value.split(",") if part]
    wrong = [name for name, separator, column in pairs if not (name and separator and column)]
    if wrong:
        raise InputError(f"--map {wrong[0]!r} is no pair; write field=column, such as text=body,title=headline")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _progress() -> Callable[[Progress], None]:
    """A status line on a terminal, plain lines otherwise."""
    is_terminal = sys.stderr.isatty()

    def show(progress: Progress) -> None:
        text = f"{progress.sources} sources, +{progress.chunks} chunks, +{progress.statements} statements"
        if is_terminal:
            from rich.console import Console

            Console(stderr=True).print(f"[dim]{text}[/dim]", end="\r")
        else:
            note(text)

    return show


def _finish(report: Report, *, is_json: bool) -> None:
    if is_json:
        print_json(report_tree(report))
    else:
        print("\n".join(report_lines(report)))
    if report.failed or report.problems:
        raise typer.Exit(1)


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(help="Files, folders, globs, or - for standard input.", show_default=False)
    ],
    corpus: Corpus = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="Read everything as this format instead of by suffix.", show_default=False),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option("--map", help="Columns of rows: text=...,title=...,id=...,metadata.NAME=...", show_default=False),
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text, if not UTF-8.", show_default=False)] = None,
    extract: Annotated[str, typer.Option(help="How statements are extracted: local or precomputed.")] = "local",
    extractions: Annotated[
        list[str] | None, typer.Option(help="JSON lines with extractions, for precomputed.", show_default=False)
    ] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Refuse larger sources.", show_default=False)] = None,
    chunked: Annotated[bool, typer.Option("--chunked", help="Each document is one chunk already.")] = False,
    delete_missing: Annotated[
        bool, typer.Option("--delete-missing", help="Remove sources under PATHS that are not there any more.")
    ] = False,
    json: Json = False,
) -> None:
    """Read sources and bring the corpus to their state; doing it twice changes nothing.

    Examples:

      hlgraph ingest docs/

      hlgraph ingest articles.jsonl.gz --map text=body,title=headline --corpus news

      hlgraph ingest docs/ --delete-missing --json
    """
    from hlgraph.client import IngestOptions

    state: State = context.obj
    if extract not in ("local", "precomputed"):
        raise InputError(f"there is no extractor {extract!r}; choose local or precomputed")
    options = IngestOptions(
        format=format_,
        mapping=_pairs(map_ or []),
        encoding=encoding,
        max_bytes=max_bytes,
        extract="precomputed" if extract == "precomputed" else "local",
        extractions=tuple(extractions or ()),
        is_chunked=chunked,
        has_delete_missing=delete_missing,
    )
    with state.open(corpus) as graph:
        report = graph.ingest(list(paths), options=options, on_progress=None if json else _progress())
    _finish(report, is_json=json)


def delete(
    context: typer.Context,
    uris: Annotated[list[str] | None, typer.Argument(help="Uris or paths of sources.", show_default=False)] = None,
    corpus: Corpus = None,
    where: Where = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete everything in the corpus.")] = False,
    json: Json = False,
) -> None:
    """Delete sources and everything that only they assert, from the graph, the vectors and the text.

    Examples:

      hlgraph delete docs/old.md

      hlgraph delete --where 'year < 2020' --corpus news

      hlgraph delete --all --corpus news
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        report = graph.delete(uris or [], where=where, is_all=all_)
    _finish(report, is_json=json)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("ingest")(ingest)
    app.command("delete")(delete)
