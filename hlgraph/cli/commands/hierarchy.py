"""The commands ``hlgraph hierarchy``: build and list the summaries above the chunks of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import LISTED, print_json, run_tree, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, Wait, budget_of, show_help

if TYPE_CHECKING:
    from hlgraph.index.hierarchy import BuiltHierarchy

PLACE = 50  # position in the list of commands

app = typer.Typer(
    help="Build and list the summaries above the chunks of a corpus.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def _hierarchy(context: typer.Context) -> None:
    show_help(context)


@app.command("build")
def build(
    context: typer.Context,
    corpus: Corpus = None,
    layers: Annotated[
        int, typer.Option(metavar="N", help="Number of layers: the chunks and the summaries above them.")
    ] = 3,
    neighbours: Annotated[
        int, typer.Option(metavar="N", help="Number of nearest nodes that each node is linked to.")
    ] = 10,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="COSINE",
            help="Minimum similarity of two neighbours, from 0 to 1. By default 0.5, adapted to the corpus.",
            show_default=False,
        ),
    ] = None,
    max_size: Annotated[int, typer.Option(metavar="N", help="Larger communities are split.")] = 10,
    long_source: Annotated[
        int, typer.Option(metavar="TOKENS", help="Longer sources get their own summary; 0 for none.")
    ] = 4_000,
    large_chunk: Annotated[
        int,
        typer.Option(metavar="TOKENS", help="Every run of chunks of this size gets its own summary; 0 for none."),
    ] = 0,
    summaries: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="chat (the chat model), extractive, or auto: chat if a chat model is configured."
        ),
    ] = "auto",
    whole: Annotated[bool, typer.Option("--whole", help="Cluster everything again.")] = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Build the summaries that --strategy hierarchy searches, or update them to the current corpus.

    Only the parts that a change touched are summarised again. Needs the extra communities.

    \b
    Examples:
      hlgraph hierarchy build
      hlgraph hierarchy build --summaries extractive --json
    """
    from hlgraph.sdk.hierarchy import HierarchyQuery

    state: State = context.obj
    query = HierarchyQuery(
        layers=layers,
        neighbours=neighbours,
        threshold=threshold,
        max_size=max_size,
        long_source=long_source,
        large_chunk=large_chunk,
    )
    with state.open(corpus, wait=wait) as graph, progress("building summaries", quiet=quiet, is_json=json):
        built = graph.hierarchy.build(query, summaries=summaries, rebuild=whole, budget=budget_of(max_tokens, max_usd))
    if json:
        print_json(_built_tree(built))
    else:
        say(*_built_lines(built))


def _built_tree(built: BuiltHierarchy) -> dict[str, object]:
    counts: dict[str, object] = {
        "chunks": built.chunks,
        "summaries": built.communities,
        "written": built.written,
    }
    counts |= {"source_summaries": built.sources, "alone": built.alone}
    states = {"kept": built.kept, "is_unchanged": built.is_unchanged, "is_whole": built.is_whole}
    return {"run": run_tree(built.run), **counts, **states}


def _built_lines(built: BuiltHierarchy) -> Iterator[str]:
    parameters = dict(part.partition("=")[::2] for part in built.run.parameters.split())
    of_sources = f" and {built.sources} summaries of sources" if built.sources else ""
    yield f"layer 0: {built.chunks} chunks{of_sources}"
    for layer, count in enumerate(built.communities, 1):
        yield f"layer {layer}: {count} summaries"
    if built.alone:
        nodes = built.chunks + built.sources
        used = parameters["threshold"]
        joined = f"; a lower --threshold than {used} joins more of them" if float(used) else ""
        yield f"alone: {built.alone} of {nodes} of layer 0 are in no community, and in no summary above{joined}"
    if built.is_unchanged:
        yield f"unchanged: already built from version {built.run.version} of the corpus with the same parameters"
    else:
        yield f"{built.written} written, {built.kept} kept"


@app.command("list")
def list_summaries(
    context: typer.Context,
    corpus: Corpus = None,
    level: Annotated[
        int | None, typer.Option(metavar="N", help="Only this level; 0 is the finest.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", help="Maximum number of summaries.")] = LISTED,
    json: Json = False,
) -> None:
    """List the stored summaries of a corpus: the highest level first, those of most chunks first within a level.

    \b
    Examples:
      hlgraph hierarchy list
      hlgraph hierarchy list --level 0 --k 5 --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        listing = graph.hierarchy.find(level=level, k=k)
    if json:
        items = [
            {"id": summary.id, "level": summary.level, "chunks": community.size, "text": summary.text}
            for summary, community in listing.summaries
        ]
        run = None if listing.run is None else run_tree(listing.run)
        of_sources = [{"id": summary.id, "source": uri, "text": summary.text} for summary, uri in listing.sources]
        tree = {"run": run, "waiting": listing.waiting, "alone": listing.alone, "summaries": items}
        print_json(tree | {"source_summaries": of_sources})
        return
    if listing.run is None:
        say("no hierarchy has been built; next: hlgraph hierarchy build")
        return
    if listing.run.is_stale:
        say(f"STALE: the corpus has changed since version {listing.run.version}; next: hlgraph hierarchy build")
    for summary, community in listing.summaries:
        say(f"level {summary.level}, {community.size} chunks: {' '.join(summary.text.split())}")
    for summary, uri in listing.sources:
        say(f"source {uri}: {' '.join(summary.text.split())}")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="hierarchy")
