"""The commands ``hlgraph hierarchy``: build and list the summaries above the chunks of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, command, group, option
from hlgraph.cli.output import LISTED, pick, run_tree

if TYPE_CHECKING:
    from hlgraph.index.hierarchy import BuiltHierarchy
    from hlgraph.sdk.hierarchy import FoundHierarchy

PLACE = 50  # position in the list of commands

app = group("hierarchy", "Build and list the summaries above the chunks of a corpus.")


@command(app, "build", "corpus", "budget", "wait", "quiet")
def build(
    cli: Invocation,
    layers: Annotated[int, option("N", "Number of layers: the chunks and the summaries above them.")] = 3,
    neighbours: Annotated[int, option("N", "Number of nearest nodes that each node is linked to.")] = 10,
    threshold: Annotated[
        float | None,
        option("COSINE", "Minimum similarity of two neighbours, from 0 to 1. By default 0.5, adapted to the corpus."),
    ] = None,
    max_size: Annotated[int, option("N", "Larger communities are split.")] = 10,
    long_source: Annotated[int, option("TOKENS", "Longer sources get their own summary; 0 for none.")] = 4_000,
    large_chunk: Annotated[
        int, option("TOKENS", "Every run of chunks of this size gets its own summary; 0 for none.")
    ] = 0,
    summaries: Annotated[
        str, option("HOW", "chat (the chat model), extractive, or auto: chat if a chat model is configured.")
    ] = "auto",
    whole: Annotated[bool, option("--whole", "Cluster everything again.")] = False,
    plan: Annotated[
        bool, option("--plan", "Print what the calls of the chat model would cost, without making any.")
    ] = False,
) -> None:
    """Build the summaries that --strategy hierarchy searches, or update them to the current corpus.

    Only the parts that a change touched are summarised again. Needs the extra communities.

    \b
    Examples:
      hlgraph hierarchy build
      hlgraph hierarchy build --summaries extractive --json
      hlgraph hierarchy build --summaries chat --plan
    """
    from hlgraph.cli.commands.plan import basis, cost_lines
    from hlgraph.errors import InputError
    from hlgraph.index.hierarchy import HierarchyQuery

    query = HierarchyQuery(
        layers=layers,
        neighbours=neighbours,
        threshold=threshold,
        max_size=max_size,
        long_source=long_source,
        large_chunk=large_chunk,
    )
    if plan and (summaries == "extractive" or cli.budget):
        raise InputError("--plan is for summaries by the chat model, and needs no budget; leave the other option out")
    with cli.connect("building summaries") as graph:
        if plan:
            cost = graph.hierarchy.plan(query, rebuild=whole)
            cli.show(cost, [*cost_lines(cost), basis(cost)])
            return
        built = graph.hierarchy.build(query, summaries=summaries, rebuild=whole, budget=cli.budget)
    tree = {
        "run": run_tree(built.run),
        **pick(built, "chunks", summaries=built.communities),
        **pick(built, "written", source_summaries=built.sources),
        **pick(built, "alone kept is_unchanged is_whole"),
    }
    cli.show(tree, _built_lines(built))


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


@command(app, "list", "corpus")
def list_summaries(
    cli: Invocation,
    level: Annotated[int | None, option("N", "Only this level; 0 is the finest.")] = None,
    k: Annotated[int, option("--k N", "Maximum number of summaries.")] = LISTED,
) -> None:
    """List the stored summaries of a corpus: the highest level first, those of most chunks first within a level.

    \b
    Examples:
      hlgraph hierarchy list
      hlgraph hierarchy list --level 0 --k 5 --json
    """
    with cli.connect() as graph:
        listing = graph.hierarchy.find(level=level, k=k)
    summaries = [
        pick(summary, "id level", chunks=community.size, text=summary.text) for summary, community in listing.summaries
    ]
    of_sources = [{"id": summary.id, "source": uri, "text": summary.text} for summary, uri in listing.sources]
    tree = {"run": run_tree(listing.run), "waiting": listing.waiting, "alone": listing.alone, "summaries": summaries}
    cli.show({**tree, "source_summaries": of_sources}, _lines(listing))


def _lines(listing: FoundHierarchy) -> Iterator[str]:
    if listing.run is None:
        yield "no hierarchy has been built; next: hlgraph hierarchy build"
        return
    if listing.run.is_stale:
        yield (
            f"STALE: the corpus has changed since version {listing.run.version}, and {listing.waiting} communities have lost "
            "their summary; next: hlgraph hierarchy build"
        )
    for summary, community in listing.summaries:
        yield f"level {summary.level}, {community.size} chunks: {' '.join(summary.text.split())}"
    for summary, uri in listing.sources:
        yield f"source {uri}: {' '.join(summary.text.split())}"
