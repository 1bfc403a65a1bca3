"""What hlgraph asks of a model. Any object with these methods will do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class QuestionEmbedder(Protocol):
    """An embedder of a model that embeds questions in another way than the texts that answer them."""

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """One L2-normalised vector, comparable to those of texts."""


def question_vector(embedder: Embedder, question: str) -> NDArray[np.float32]:
    """The vector of a question: by the embedder's own way for questions where it has one, else as any text."""
    if isinstance(embedder, QuestionEmbedder):
        return embedder.embed_question(question)
    vector: NDArray[np.float32] = embedder.embed([question])[0]
    return vector


class Reranker(Protocol):
    """Scores texts against a question, more exactly and more slowly than a search."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""

    def rerank(
        self, question: str, texts: Sequence[str], *, similarities: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """One score a text, higher is better. ``similarities``: cosines to the question, where the caller has them."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply: its text, the tokens that it cost (0 where the provider does not say), and whether it was cut off.

    ``is_cut``: the reply ended because it reached the limit of its length, not because it was complete. ``is_kept``: it was
    kept from an earlier call, and cost nothing now. ``is_estimated``: the provider did not say what it cost.
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_cut: bool = False
    is_kept: bool = False
    is_estimated: bool = False


class ChatModel(Protocol):
    """Completes a conversation; the one call that extraction and answers need. Must be safe for threads."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """The reply to one system and one user message. Raises ModelError, of the kind that says what to do."""


@runtime_checkable
class StreamingChat(Protocol):
    """A chat model that can give its reply in pieces."""

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """The pieces of the reply as they come, and at the end the whole reply with what it cost.

        Closing the iterator ends the call. Raises ModelError, of the kind that says what to do.
        """
