"""The command ``hlgraph journal``: list or drop changes that interrupted runs left unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.errors import UnknownNameError

if TYPE_CHECKING:
    from hlgraph.change import Pending

PLACE = 90  # position in the list of commands

app = typer.Typer()


@command(app, "journal", "wait")
def journal(
    cli: Invocation,
    action: Annotated[Literal["list", "drop"], argument("ACTION", "list or drop.")] = "list",
    change: Annotated[str | None, option("--change ID", "Only this change.")] = None,
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
    from hlgraph.persist.journal import abandon
    from hlgraph.stores.open import open_stores

    opened = open_stores(cli.settings())
    dropped: list[str] = []
    with opened.closing:
        graph = opened.stores.graph
        unfinished = [entry for entry in graph.unfinished() if change in {None, entry.change.id}]
        if change is not None and not unfinished:
            raise UnknownNameError(f"there is no unfinished change {change}; to list them: hlgraph journal")
        corpora = sorted({entry.change.corpus for entry in unfinished}) if action == "drop" else []
        for corpus in corpora:
            with graph.lock(corpus) as pending:  # what a writer at work had begun is finished by now
                for entry in pending:
                    if entry.change.id == change or (change is None and entry.state is ChangeState.STAGED):
                        abandon(entry, opened.stores)
                        dropped.append(entry.change.id)
    lines = [_line(entry, is_dropped=entry.change.id in dropped) for entry in unfinished]
    if action == "list":
        lines.append("next: run any ingest or delete to finish them, or: hlgraph journal drop")
    changes = [_tree(entry) for entry in unfinished]
    cli.show({"changes": changes, "dropped": dropped}, lines if unfinished else ["no change is unfinished"])


def _line(pending: Pending, *, is_dropped: bool) -> str:
    change, state = pending.change, "dropped" if is_dropped else pending.state.value
    return (
        f"{change.id}  {state}: corpus {change.corpus}, {len(change.sources)} sources, "
        f"{len(change.removed_sources)} to remove, {len(change.statements)} statements"
    )


def _tree(pending: Pending) -> dict[str, object]:
    change = pending.change
    counts = {name: len(getattr(change, name)) for name in ("sources", "removed_sources", "statements")}
    return {"id": change.id, "corpus": change.corpus, "state": pending.state.value, **counts}
