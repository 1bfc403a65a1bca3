"""Load the local models named in the settings: the embedder with its cache, the reranker."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.install import load_local, load_reranker
from hlgraph.models.local.cross_encoder import LocalCrossEncoder
from hlgraph.models.local.embedder import LocalEmbedder, Runtime
from hlgraph.settings import ModelSettings, cache_folder

CACHE_FILE = "embeddings-1.sqlite"  # 1 is the version of its schema


def cached_embedder(models: ModelSettings) -> CachedEmbedder:
    """The local embedder that the settings name, an installed model or a folder, with the on-disk cache of its vectors.

    Raises ModelMissingError with the command that installs the model, InputError for an unknown runtime.
    """
    runtime = cast("Runtime", models.runtime)  # LocalEmbedder checks it
    if _is_folder(models.embedder):
        embedder = LocalEmbedder(Path(models.embedder), runtime=runtime)
    else:
        embedder = load_local(models.embedder, root=Path(models.root) if models.root else None, runtime=runtime)
    return CachedEmbedder(embedder, cache_file(models.cache))


def cache_file(folder: str | None) -> Path:
    """Path of the embedding cache in ``folder``; None: the user's cache folder."""
    return cache_folder(folder) / CACHE_FILE


def local_reranker(name: str, *, root: str | None) -> LocalCrossEncoder:
    """The cross-encoder of an installed model, or of a folder.

    Parameters
    ----------
    name : name of an installed model, or a folder
    root : folder of the installed models; None: the user's default

    Returns
    -------
    LocalCrossEncoder
        The reranker.

    Raises
    ------
    ModelMissingError
        The model is not installed, or the folder contains none; the message names the command that installs it.
    """
    if _is_folder(name):
        return LocalCrossEncoder(Path(name))
    return load_reranker(name, root=Path(root) if root else None)


def _is_folder(name: str) -> bool:
    folder = Path(name)
    return len(folder.parts) > 1 or folder.is_absolute()
