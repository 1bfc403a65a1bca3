"""Protocols for models: ChatModel, Embedder, Reranker. Any object with these methods works; no base class is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

EmbedQuestion: TypeAlias = Callable[[str], NDArray[np.float32]]
"""The optional method ``embed_question`` of an embedder."""


class Embedder(Protocol):
    """Turns texts into vectors of equal length.

    Two methods are optional. ``embed_question(question)`` returns the vector of one question, shape ``(dimensions,)``, for a
    model that embeds questions differently from the texts that answer them. An embedder that stores no texts may lack
    ``forget``.
    """

    @property
    def fingerprint(self) -> str:
        """Name and version of the model; vectors with different fingerprints are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, shape ``(len(texts), dimensions)``; empty texts are allowed.

        At every call of an embedder, :mod:`hlgraph.models.checked` normalises the rows and refuses rows of zeros.
        """

    def forget(self, texts: Sequence[str]) -> None:
        """Delete whatever a cache holds about these texts, so that a deletion leaves nothing behind."""


def question_vector(embedder: Embedder, question: str) -> NDArray[np.float32]:
    """The vector of a question: from ``embed_question`` if the embedder has it, else embedded like any text.

    Parameters
    ----------
    embedder : the embedder
    question : the question, plain text

    Returns
    -------
    NDArray
        One L2-normalised vector of shape ``(dimensions,)``, float32.
    """
    embed_question: EmbedQuestion | None = getattr(embedder, "embed_question", None)
    return embedder.embed([question])[0] if embed_question is None else embed_question(question)


class Reranker(Protocol):
    """Scores texts against a question, more accurately and more slowly than a search."""

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""

    def rerank(
        self, question: str, texts: Sequence[str], *, similarities: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """One relevance score per text; higher is better.

        Parameters
        ----------
        question : the question, plain text
        texts : the texts to score
        similarities : cosine similarity of each text to the question, shape ``(len(texts),)``; default: not known

        Returns
        -------
        NDArray
            Scores of shape ``(len(texts),)``, float32.
        """


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply of a chat model, with its token usage.

    Attributes
    ----------
    text : the reply
    input_tokens, output_tokens : tokens used; 0 if the provider does not report them
    is_cut : the reply stopped at its length limit and is incomplete
    is_kept : the reply was kept from an earlier call and cost nothing now
    is_estimated : the provider did not report its tokens; they are estimated
    calls : number of calls that these tokens belong to: 2 if a reply that was cut off was requested again
    """

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    is_cut: bool = False
    is_kept: bool = False
    is_estimated: bool = False
    calls: int = 1


ChatStream: TypeAlias = Callable[..., Iterator[str | Completion]]
"""The optional method ``stream`` of a chat model."""


class ChatModel(Protocol):
    """Replies to one system and one user message, which is all that extraction and answers need. Must be thread-safe.

    Two methods are optional, with the parameters and the errors of :meth:`complete`:

    - ``stream(system, user, *, max_tokens)`` yields pieces of text as they arrive, then one Completion. Closing the iterator
      ends the call.
    - ``attempt(system, user, *, max_tokens, form)`` makes one call without retries; ``form`` is a JSON schema of the reply,
      or None. With an attribute ``patience`` (:class:`hlgraph.models.calls.Patience`), hlgraph retries in place of the model.
    """

    @property
    def fingerprint(self) -> str:
        """Name and version of the model."""

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """The reply to one system and one user message.

        Parameters
        ----------
        system : the system message
        user : the user message
        max_tokens : maximum length of the reply, in tokens

        Returns
        -------
        Completion
            The reply with its token usage.

        Raises
        ------
        ModelError
            The call failed; the subclass tells whether a retry can help.
        """
