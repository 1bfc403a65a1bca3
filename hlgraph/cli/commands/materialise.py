"""The command ``hlgraph materialise``: store derived relationships for the queries of analysts."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.errors import InputError

PLACE = 195  # position in the list of commands

app = typer.Typer()


@command(app, "materialise", "corpus", "wait", "quiet")
def materialise(
    cli: Invocation,
    relationship: Annotated[  # noqa: ARG001 - there is one, and Typer refuses others
        Literal["co_occurs"], argument("RELATIONSHIP", "co_occurs.")
    ],
    drop: Annotated[bool, option("--drop", "Remove what is stored.")] = False,
) -> None:
    """Store a derived relationship of a corpus in Neo4j, for your own queries.

    co_occurs is CO_OCCURS between the entities of a chunk, with the number of common chunks. hlgraph itself does not need it
    stored: it counts it from MENTIONS. Changes of the corpus do not update it; hlgraph stats and hlgraph doctor then report
    that it is outdated, and the same command stores it again.

    \b
    Examples:
      hlgraph materialise co_occurs
      hlgraph materialise co_occurs --drop --json
    """
    from hlgraph.stores.open import open_graph

    settings = cli.settings()
    with open_graph(settings) as graph, cli.progress("storing co_occurs"):
        if settings.store.startswith("hlgraph://"):
            raise InputError(
                f"{settings.store} is an embedded store, which has no Cypher; relationships are stored for queries on Neo4j"
            )
        count = graph.drop_co_occurs(settings.corpus) if drop else graph.write_co_occurs(settings.corpus)
    cli.show(
        {"corpus": settings.corpus, "relationship": "co_occurs", "is_dropped": drop, "relationships": count},
        [f"corpus {settings.corpus}: {count} relationships CO_OCCURS {'removed' if drop else 'stored'}"],
    )
