"""The command ``hlgraph materialise``: store derived relationships for the queries of analysts."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, Quiet, State, Wait
from hlgraph.errors import InputError

PLACE = 195  # position in the list of commands


def materialise(
    context: typer.Context,
    relationship: Annotated[  # noqa: ARG001 - there is one, and Typer refuses others
        Literal["co_occurs"], typer.Argument(metavar="RELATIONSHIP", help="co_occurs.")
    ],
    corpus: Corpus = None,
    drop: Annotated[bool, typer.Option("--drop", help="Remove what is stored.")] = False,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
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

    state: State = context.obj
    settings = state.settings(corpus, wait=wait)
    with (
        open_graph(settings) as graph,
        progress("storing co_occurs", quiet=quiet, is_json=json),
    ):
        if settings.store.startswith("hlgraph://"):
            raise InputError(
                f"{settings.store} is an embedded store, which has no Cypher; relationships are stored for queries on Neo4j"
            )
        count = graph.drop_co_occurs(settings.corpus) if drop else graph.write_co_occurs(settings.corpus)
    if json:
        print_json({"corpus": settings.corpus, "relationship": "co_occurs", "is_dropped": drop, "relationships": count})
    else:
        say(f"corpus {settings.corpus}: {count} relationships CO_OCCURS {'removed' if drop else 'stored'}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("materialise")(materialise)
