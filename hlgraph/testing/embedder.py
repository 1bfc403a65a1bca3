"""An embedder without a model: equal texts have equal vectors, and texts that share words are close."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hlgraph.text import words


class WordEmbedder:
    """Embed a text as the normalised sum of one fixed pseudo-random direction per word; it knows no meanings.

    Attributes
    ----------
    embedded : all texts embedded so far
    """

    def __init__(self, dimensions: int = 32, *, name: str = "words") -> None:
        self._dimensions = dimensions
        self._name = name
        self.embedded: list[str] = []

    @property
    def fingerprint(self) -> str:
        """Name and dimensions."""
        return f"{self._name}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, as rows."""
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for at, text in enumerate(texts):
            for word in words(text) or [""]:
                rows[at] += _direction(word, self._dimensions)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def forget(self, texts: Sequence[str]) -> None:
        """Do nothing, because there is no cache."""


@functools.lru_cache(maxsize=65_536)
def _direction(word: str, dimensions: int) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
