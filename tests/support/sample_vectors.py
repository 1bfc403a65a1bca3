"""Copies of the vectors of the samples: each test gets one, since a deletion removes vectors from the cache too."""

from __future__ import annotations

import shutil
from pathlib import Path

import hlgraph
from hlgraph.models.cache import CACHE_FILE

SAMPLES = Path(hlgraph.__file__).parent / "samples"


def copied(vectors: Path, folder: Path) -> str:
    """A new cache folder, for ``HLGRAPH_CACHE``, with the vectors of this file."""
    folder.mkdir(parents=True)
    shutil.copy(vectors, folder / CACHE_FILE)
    return str(folder)
