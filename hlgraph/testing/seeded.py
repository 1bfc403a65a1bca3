"""An embedder without a model for large numbers of texts, to measure how stores and searches scale."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hlgraph.text import words

_COMMON = 0.33  # length of what all vectors have in common: a cosine of 0.1
_DECAY = 96.0  # components after which the deviation falls to 1 / e


class SeededEmbedder:
    """Embeds a text as the normalised sum of one pseudo-random direction per word, drawn from the seed and the word alone.

    A text has the same vector in every process and in every batch. Texts that share words are close: two texts of n words that
    share m have a cosine of about 0.1 + 0.9 m / n, give or take 0.1. It knows no meanings. Directions are kept by word, so
    memory grows with the vocabulary by 4 d bytes per word.

    The cosines of unlike texts are about those of all-MiniLM-L6-v2: 0.1 at the median, because all vectors have a direction in
    common, and as far apart, because a hundred components have most of the variance. So names and statements have the
    thresholds of the shipped embedder (:mod:`hlgraph.algorithms.calibration`), and names have few synonyms.

    Parameters
    ----------
    dimensions : length of every vector, default 384, as for the local model
    seed : seed of the directions, default 0; another seed makes another model

    Examples
    --------
    >>> a, b, c = SeededEmbedder().embed(["the old mill", "the old mill", "a new harbour"])
    >>> round(float(a @ b), 3), float(a @ c) < 0.5
    (1.0, True)
    """

    def __init__(self, dimensions: int = 384, *, seed: int = 0) -> None:
        self._dimensions = dimensions
        self._seed = seed
        self._places: dict[str, int] = {}
        self._directions = np.empty((1024, dimensions), dtype=np.float32)
        self._scale = np.exp(-np.arange(dimensions) / _DECAY).astype(np.float32)
        self._common = np.full(dimensions, dimensions**-0.5, dtype=np.float32)

    @property
    def fingerprint(self) -> str:
        """``made-up-2``, the seed and the dimensions."""
        return f"made-up-2/{self._seed}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text, shape (texts, dimensions)."""
        columns: list[int] = []
        starts = [0]
        for text in texts:
            columns.extend(self._place(word) for word in words(text) or [""])
            starts.append(len(columns))
        ones = np.ones(len(columns), dtype=np.float32)
        shape = (len(texts), len(self._places))
        counts = sparse.csr_array(
            (ones, np.array(columns, dtype=np.int64), np.array(starts, dtype=np.int64)), shape=shape
        )
        rows = np.asarray(counts @ self._directions[: len(self._places)], dtype=np.float32)
        return _unit(_unit(rows) + _COMMON * self._common)

    def forget(self, texts: Sequence[str]) -> None:
        """Does nothing, since no text is kept."""

    def _place(self, word: str) -> int:
        place = self._places.get(word)
        if place is None:
            place = self._places[word] = len(self._places)
            if place == len(self._directions):
                self._directions = np.concatenate([self._directions, np.empty_like(self._directions)])
            digest = hashlib.sha256(f"{self._seed}/".encode() + word.encode("utf-8", "surrogatepass")).digest()
            rng = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:8], "big")))
            drawn = self._scale * rng.standard_normal(self._dimensions, dtype=np.float32)
            self._directions[place] = drawn / np.linalg.norm(drawn)
        return place


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
