"""The commands ``hlgraph communities``: build and list the communities of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, command, group, option
from hlgraph.cli.output import LISTED, pick, run_tree

if TYPE_CHECKING:
    from hlgraph.index.communities import BuiltCommunities
    from hlgraph.sdk.communities import FoundCommunities

PLACE = 40  # position in the list of commands

app = group("communities", "Build and list the communities of a corpus.")
Shape = Annotated[
    str, option("SHAPE", "The graph to cluster: entity_entity, entity_passage (with chunks) or statement_entity_chunk.")
]


@command(app, "build", "corpus", "wait", "quiet")
def build(
    cli: Invocation,
    shape: Shape = "entity_entity",
    resolution: Annotated[float, option("R", "Values above 1 give more and smaller communities.")] = 1.0,
    max_size: Annotated[int, option("N", "Maximum members of a community on the finest level.")] = 100,
    max_levels: Annotated[int, option("N", "Maximum number of levels.")] = 4,
    seed: Annotated[int, option("N", "The same seed gives the same communities.")] = 0,
) -> None:
    """Find the communities of a corpus with the Leiden algorithm, and store them with their levels.

    On Neo4j with Graph Data Science the server computes them, otherwise this process does (extra communities). Building
    again with the same parameters changes nothing. A later ingest or delete makes them stale; then build again.

    \b
    Examples:
      hlgraph communities build
      hlgraph communities build --shape entity_passage --max-size 50 --json
    """
    with cli.connect("finding communities") as graph:
        built = graph.communities.build(
            shape, resolution=resolution, max_size=max_size, max_levels=max_levels, seed=seed
        )
    counts = {"communities": built.communities, **built.saved._asdict(), "is_unchanged": built.is_unchanged}
    cli.show({"run": run_tree(built.run), **counts}, _built_lines(built))


def _built_lines(built: BuiltCommunities) -> Iterator[str]:
    for level, count in enumerate(built.communities):
        yield f"level {level}: {count} communities"
    if built.is_unchanged:
        yield f"unchanged: already built from version {built.run.version} of the corpus with the same parameters"
    else:
        saved = built.saved
        yield f"{saved.added} added, {saved.removed} removed, {saved.kept} kept; computed by {built.run.by}"


@command(app, "list", "corpus", "caller")
def list_communities(
    cli: Invocation,
    shape: Shape = "entity_entity",
    level: Annotated[int | None, option("N", "Only this level; 0 is the finest.")] = None,
    k: Annotated[int, option("--k N", "Maximum number of communities.")] = LISTED,
    skip: Annotated[int, option("N", "Number of the first communities that are left out.")] = 0,
    names: Annotated[int, option("N", "Number of member names shown for each.")] = 10,
) -> None:
    """List the communities of a corpus: the finest level first, the largest first within a level.

    They are those that were built; with --as, those of the entities that the caller sees.

    \b
    Examples:
      hlgraph communities list
      hlgraph communities list --level 1 --k 5 --skip 5 --json
    """
    with cli.connect() as graph:
        listing = graph.communities.find(shape, level=level, k=k, skip=skip, names=names)
    communities = [
        pick(community, "id level size parent_id", names=listing.names.get(community.id, ()))
        for community in listing.communities
    ]
    tree = {"run": run_tree(listing.run), "communities": communities, "total": listing.total}
    cli.show(tree, _lines(listing, shape, skip + len(communities)))


def _lines(listing: FoundCommunities, shape: str, shown: int) -> Iterator[str]:
    if listing.run is None:
        yield f"no communities have been built for {shape}; next: hlgraph communities build --shape {shape}"
        return
    if listing.run.is_stale:
        yield f"STALE: the corpus has changed since version {listing.run.version}; next: hlgraph communities build"
    for community in listing.communities:
        names = ", ".join(listing.names.get(community.id, ()))
        yield f"level {community.level}, {community.size} members: {names}  ({community.id})"
    more = f"; more: --skip {shown}" if shown < listing.total else ""
    yield f"{len(listing.communities):,} of {listing.total:,} communities shown{more}"
