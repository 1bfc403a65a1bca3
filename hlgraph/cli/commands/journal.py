"""The command ``hlgraph journal``: list or drop changes that interrupted runs left unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Json, State, Wait
from hlgraph.errors import UnknownNameError

if TYPE_CHECKING:
    from hlgraph.change import Pending

PLACE = 90  # position in the list of commands


def journal(
    context: typer.Context,
    action: Annotated[Literal["list", "drop"], typer.Argument(metavar="ACTION", help="list or drop.")] = "list",
    change: Annotated[
        str | None, typer.Option("--change", metavar="ID", help="Only this change.", show_default=False)
    ] = None,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """List the unfinished changes of interrupted runs and active writers, or drop those of interrupted runs.

    Every ingest and delete finishes the changes of its corpus first. Drop a change that the store cannot apply, for example one too
    large for the memory of a server: the records that it wrote, which were never visible, are removed. A change that is
    already visible is kept, to be finished.

    \b
    Examples:
      hlgraph journal
      hlgraph journal drop
    """
    from hlgraph.change import ChangeState
    from hlgraph.persist import abandon
    from hlgraph.stores.open import open_stores

    state: State = context.obj
    opened = open_stores(state.settings(wait=wait))
    dropped: list[str] = []
    with opened.closing:
        graph = opened.stores.graph
        unfinished = [item for item in graph.unfinished() if change in {None, item.change.id}]
        if change is not None and not unfinished:
            raise UnknownNameError(f"there is no unfinished change {change}; to list them: hlgraph journal")
        corpora = sorted({item.change.corpus for item in unfinished}) if action == "drop" else []
        for corpus in corpora:
            with graph.lock(corpus) as pending:  # what a writer at work had begun is finished by now
                for item in pending:
                    if item.change.id == change or (change is None and item.state is ChangeState.STAGED):
                        abandon(item, opened.stores)
                        dropped.append(item.change.id)
    if json:
        print_json({"changes": [_tree(item) for item in unfinished], "dropped": dropped})
        return
    for item in unfinished:
        tree = _tree(item)
        state_name = "dropped" if item.change.id in dropped else item.state.value
        say(
            f"{item.change.id}  {state_name}: corpus {item.change.corpus}, {tree['sources']} sources, "
            f"{tree['removed_sources']} to remove, {tree['statements']} statements"
        )
    if not unfinished:
        say("no change is unfinished")
    elif action == "list":
        say("next: run any ingest or delete to finish them, or: hlgraph journal drop")


def _tree(item: Pending) -> dict[str, object]:
    change = item.change
    return {
        "id": change.id,
        "corpus": change.corpus,
        "state": item.state.value,
        "sources": len(change.sources),
        "removed_sources": len(change.removed_sources),
        "statements": len(change.statements),
    }


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("journal")(journal)
