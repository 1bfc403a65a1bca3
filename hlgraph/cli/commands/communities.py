"""The commands ``hlgraph communities``: build and list the communities of a corpus."""

from __future__ import annotations

from typing import Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import LISTED, print_json, run_tree, say
from hlgraph.cli.state import Corpus, Json, Quiet, State, Wait, show_help

PLACE = 40  # position in the list of commands

app = typer.Typer(
    help="Build and list the communities of a corpus.", invoke_without_command=True, rich_markup_mode=None
)
Shape = Annotated[
    str,
    typer.Option(
        metavar="SHAPE",
        help="The graph to cluster: entity_entity, entity_passage (with chunks) or statement_entity_chunk.",
    ),
]


@app.callback()
def _communities(context: typer.Context) -> None:
    show_help(context)


@app.command("build")
def build(
    context: typer.Context,
    corpus: Corpus = None,
    shape: Shape = "entity_entity",
    resolution: Annotated[
        float, typer.Option(metavar="R", help="Values above 1 give more and smaller communities.")
    ] = 1.0,
    max_size: Annotated[
        int, typer.Option(metavar="N", help="Maximum members of a community on the finest level.")
    ] = 100,
    max_levels: Annotated[int, typer.Option(metavar="N", help="Maximum number of levels.")] = 4,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same communities.")] = 0,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find the communities of a corpus with the Leiden algorithm, and store them with their levels.

    On Neo4j with Graph Data Science the server computes them, otherwise this process does (extra communities). Building
    again with the same parameters changes nothing. A later ingest or delete makes them stale; then build again.

    \b
    Examples:
      hlgraph communities build
      hlgraph communities build --shape entity_passage --max-size 50 --json
    """
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph, progress("finding communities", quiet=quiet, is_json=json):
        built = graph.communities.build(
            shape, resolution=resolution, max_size=max_size, max_levels=max_levels, seed=seed
        )
    if json:
        counts = {"communities": built.communities, **built.saved._asdict(), "is_unchanged": built.is_unchanged}
        print_json({"run": run_tree(built.run), **counts})
        return
    for level, count in enumerate(built.communities):
        say(f"level {level}: {count} communities")
    if built.is_unchanged:
        say(f"unchanged: already built from version {built.run.version} of the corpus with the same parameters")
    else:
        saved = f"{built.saved.added} added, {built.saved.removed} removed, {built.saved.kept} kept"
        say(f"{saved}; computed by {built.run.by}")


@app.command("list")
def list_communities(
    context: typer.Context,
    corpus: Corpus = None,
    shape: Shape = "entity_entity",
    level: Annotated[
        int | None, typer.Option(metavar="N", help="Only this level; 0 is the finest.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", help="Maximum number of communities.")] = LISTED,
    names: Annotated[int, typer.Option(metavar="N", help="Number of member names shown for each.")] = 10,
    json: Json = False,
) -> None:
    """List the stored communities of a corpus: the finest level first, the largest first within a level.

    \b
    Examples:
      hlgraph communities list
      hlgraph communities list --level 1 --k 5 --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        listing = graph.communities.find(shape, level=level, k=k, names=names)
    if json:
        items = [
            {
                "id": item.id,
                "level": item.level,
                "size": item.size,
                "parent_id": item.parent_id,
                "names": list(listing.names.get(item.id, ())),
            }
            for item in listing.communities
        ]
        print_json({"run": None if listing.run is None else run_tree(listing.run), "communities": items})
        return
    if listing.run is None:
        say(f"no communities have been built for {shape}; next: hlgraph communities build --shape {shape}")
        return
    if listing.run.is_stale:
        say(f"STALE: the corpus has changed since version {listing.run.version}; next: hlgraph communities build")
    for item in listing.communities:
        say(f"level {item.level}, {item.size} members: {', '.join(listing.names.get(item.id, ()))}  ({item.id})")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="communities")
