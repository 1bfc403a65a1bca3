"""What hlgraph asks of a model. Any object with these methods will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model; vectors of two fingerprints are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row a text, shape ``(len(texts), dimensions)``, float32; an empty text is allowed."""

    def forget(self, texts: Sequence[str]) -> None:
        """Drop what a cache holds about these texts (deletion leaves nothing behind)."""


class Reranker(Protocol):
    """Scores texts against a question, more exactly and more slowly than a search."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""

    def rerank(
        self, question: str, texts: Sequence[str], *, similarities: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """One score a text, higher is better. ``similarities``: cosines to the question, where the caller has them."""


class ChatModel(Protocol):
    """Completes a conversation; the one call that extraction and answers need."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""

    def complete(self, system: str, user: str, *, max_tokens: int) -> str:
        """The text of the reply to one system and one user message."""
