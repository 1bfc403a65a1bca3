"""The commands ``hlgraph groups``: which groups may see the sources of a corpus."""

from __future__ import annotations

from typing import Annotated

from hlgraph.cli.command import Invocation, Where, argument, command, group, option

PLACE = 35  # position in the list of commands

app = group("groups", "Show and change the groups that may see the sources of a corpus.")
_Uris = Annotated[
    list[str] | None, option("--uri URI", "URI or path of a source, or a folder of them (may be repeated).")
]


@command(app, "list", "corpus")
def list_groups(cli: Invocation) -> None:
    """Print each group with the number of its sources.

    \b
    Example:
      hlgraph groups list
    """
    with cli.connect() as graph:
        groups = graph.groups.list()
    lines = [f"{number:,} sources: {name or 'no group (operators only)'}" for name, number in groups.items()]
    cli.show({"groups": groups}, lines or ["no sources"])


@command(app, "set", "corpus", "wait")
def set_groups(
    cli: Invocation,
    groups: Annotated[list[str], argument("GROUP...", "The groups that may see the sources; they replace others.")],
    uri: _Uris = None,
    where: Where = None,
) -> None:
    """Let these groups see some sources, and no others.

    Nothing is extracted again. The change holds from the next search on.

    \b
    Examples:
      hlgraph groups set finance board --uri reports/
      hlgraph groups set public --where 'category = "news"'
    """
    with cli.connect() as graph:
        number = graph.groups.set(groups, uris=uri or (), where=where)
    cli.show({"changed": number}, [f"changed the groups of {number:,} sources"])


@command(app, "clear", "corpus", "wait")
def clear(cli: Invocation, uri: _Uris = None, where: Where = None) -> None:
    """Remove the groups of some sources: only operators see them.

    \b
    Example:
      hlgraph groups clear --uri reports/2019.md
    """
    with cli.connect() as graph:
        number = graph.groups.clear(uris=uri or (), where=where)
    cli.show({"changed": number}, [f"changed the groups of {number:,} sources"])
