"""The embedder that the settings ask for, with its cache."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.install import load_local
from hlgraph.models.local.embedder import LocalEmbedder, Runtime
from hlgraph.settings import cache_folder

CACHE_FILE = "embeddings-1.sqlite"  # the number is that of its layout


class ModelChoice(Protocol):
    """Folder of the models, folder of the cache (None: the user's), and the name of a model or a folder that holds one."""

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
        """What computes: ``onnxruntime`` or ``openvino``."""


def cached_embedder(choice: ModelChoice) -> CachedEmbedder:
    """The chosen model behind the on-disk cache of its vectors.

    Raises ModelMissingError with the command that installs the model, InputError for a runtime that there is not.
    """
    return CachedEmbedder(_local(choice), cache_file(choice.cache))


def cache_file(folder: str | None) -> Path:
    """The file of the embedding cache, in this folder or that of the user."""
    return cache_folder(folder) / CACHE_FILE


def _local(choice: ModelChoice) -> LocalEmbedder:
    folder = Path(choice.embedder)
    runtime = cast("Runtime", choice.runtime)  # the embedder refuses what is none
    if len(folder.parts) > 1 or folder.is_absolute():
        return LocalEmbedder(folder, runtime=runtime)
    return load_local(choice.embedder, root=Path(choice.root) if choice.root else None, runtime=runtime)
