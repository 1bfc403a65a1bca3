"""Loads the local models named in the settings: the embedder with its cache, the reranker."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.install import load_local, load_reranker
from hlgraph.models.local.cross_encoder import LocalCrossEncoder
from hlgraph.models.local.embedder import LocalEmbedder, Runtime
from hlgraph.settings import cache_folder

CACHE_FILE = "embeddings-1.sqlite"  # 1 is the version of its schema


class ModelChoice(Protocol):
    """The settings of a local embedder; for both folders None means the user's default."""

    @property
    def root(self) -> str | None:
        """Folder of the installed models."""

    @property
    def cache(self) -> str | None:
        """Folder of the embedding cache."""

    @property
    def embedder(self) -> str:
        """Name of an installed model, or a folder."""

    @property
    def runtime(self) -> str:
        """Inference runtime: ``onnxruntime`` or ``openvino``."""


def cached_embedder(choice: ModelChoice) -> CachedEmbedder:
    """The chosen model with the on-disk cache of its vectors.

    Raises ModelMissingError with the command that installs the model, InputError for an unknown runtime.
    """
    return CachedEmbedder(_local(choice), cache_file(choice.cache))


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


def _local(choice: ModelChoice) -> LocalEmbedder:
    folder = Path(choice.embedder)
    runtime = cast("Runtime", choice.runtime)  # LocalEmbedder checks it
    if _is_folder(choice.embedder):
        return LocalEmbedder(folder, runtime=runtime)
    return load_local(choice.embedder, root=Path(choice.root) if choice.root else None, runtime=runtime)
