"""Embedders and rerankers behind a provider: what all of them do around the one call that differs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import ModelAnswerError, ModelMismatchError
from hlgraph.models.calls import PATIENT, Patience, call

EmbedCall = Callable[[list[str], bool], Iterable[Iterable[float]]]
"""Texts, and whether they are questions, to one vector a text."""

RerankCall = Callable[[str, list[str]], Iterable[tuple[int, float]]]
"""A question and texts to pairs of the index of a text and its score; texts may be missing."""

AT_ONCE = 4
"""Calls at once to a provider that computes elsewhere."""

_BLANK = " "  # providers refuse an empty text
_TINY = 1e-12


class RemoteEmbedder:
    """Vectors of a provider: in batches, normalised, checked, tried again. Safe for threads.

    Parameters
    ----------
    name : ``provider:model``, the fingerprint
    send : embeds one batch
    batch : at most so many texts a call
    dimensions : length of the vectors, where the caller knows it; else it is that of the first ones
    parallel : so many batches at once
    """

    def __init__(
        self,
        name: str,
        send: EmbedCall,
        *,
        batch: int,
        dimensions: int | None = None,
        parallel: int = 1,
        patience: Patience = PATIENT,
    ) -> None:
        self._name = name
        self._send = send
        self._batch = batch
        self._parallel = parallel
        self._patience = patience
        self._dimensions = dimensions
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Provider and model, and the length of the vectors where it was chosen."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Length of every vector; found by embedding a word when nothing was embedded yet."""
        if self._dimensions is None:
            self._rows(["length"], is_question=False)
        return self._dimensions or 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One normalised row a text.

        Raises
        ------
        ModelUnavailableError, ModelAccessError : the provider does not answer, or does not let us in
        ModelAnswerError : what it answered are not as many vectors of numbers
        ModelMismatchError : the vectors have another length than the first ones, or than was said
        """
        batches = [list(texts[start : start + self._batch]) for start in range(0, len(texts), self._batch)]
        if not batches:
            return np.empty((0, self.dimensions), dtype=np.float32)
        if self._parallel == 1 or len(batches) == 1:
            return np.concatenate([self._rows(batch, is_question=False) for batch in batches])
        pool = ThreadPoolExecutor(min(self._parallel, len(batches)), thread_name_prefix="hlgraph-embed")
        try:
            return np.concatenate(list(pool.map(lambda batch: self._rows(batch, is_question=False), batches)))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)  # after an error no other batch is begun

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """The vector of a question, as the model embeds questions. Raises as :meth:`embed` does."""
        vector: NDArray[np.float32] = self._rows([question], is_question=True)[0]
        return vector

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing to do: nothing is kept here."""

    def _rows(self, texts: list[str], *, is_question: bool) -> NDArray[np.float32]:
        given = [text if text.strip() else _BLANK for text in texts]

        def send() -> NDArray[np.float64]:
            return np.array([list(vector) for vector in self._send(given, is_question)], dtype=np.float64)

        found = call(self._name, send, patience=self._patience)
        if found.ndim != 2 or len(found) != len(texts) or not found.shape[1] or not np.isfinite(found).all():
            raise ModelAnswerError(
                f"{self._name}: the provider answered no {len(texts)} vectors of numbers (shape {found.shape}); "
                "check that the model is one for embeddings"
            )
        self._check_length(found.shape[1])
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        # A vector without direction stays what it is for a reader of norms: it must still be a unit vector.
        found[norms[:, 0] < _TINY, 0] = 1.0
        unit: NDArray[np.float32] = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _check_length(self, length: int) -> None:
        with self._lock:
            if self._dimensions is None:
                self._dimensions = length
        if length != self._dimensions:
            raise ModelMismatchError(
                f"{self._name}: a vector has {length} dimensions, {self._dimensions} were expected; "
                "correct the dimensions in the settings, or the name of the model"
            )


class RemoteReranker:
    """Scores of a provider: in batches, checked, tried again. Safe for threads.

    A text that the provider leaves out gets 1 less than the lowest score. Scores of several batches are compared as they
    are, so a provider must score each text by itself.

    Parameters
    ----------
    name : ``provider:model``, the fingerprint
    send : scores one batch
    batch : at most so many texts a call
    """

    def __init__(self, name: str, send: RerankCall, *, batch: int = 1000, patience: Patience = PATIENT) -> None:
        self._name = name
        self._send = send
        self._batch = batch
        self._patience = patience

    @property
    def fingerprint(self) -> str:
        """Provider and model."""
        return self._name

    def rerank(
        self,
        question: str,
        texts: Sequence[str],
        *,
        similarities: NDArray[np.float32] | None = None,  # noqa: ARG002 - of the seam; the model looks at the words
    ) -> NDArray[np.float32]:
        """One score a text, on the scale of the provider.

        Raises
        ------
        ModelUnavailableError, ModelAccessError : the provider does not answer, or does not let us in
        ModelAnswerError : what it answered are no scores of these texts
        """
        scores = np.full(len(texts), np.nan, dtype=np.float32)
        for start in range(0, len(texts), self._batch):
            part = [text if text.strip() else _BLANK for text in texts[start : start + self._batch]]
            for at, score in self._scores(question, part):
                scores[start + at] = score
        is_missing = np.isnan(scores)
        if is_missing.any():
            scores[is_missing] = 0.0 if is_missing.all() else np.nanmin(scores) - 1
        return scores

    def _scores(self, question: str, texts: list[str]) -> list[tuple[int, float]]:
        found = call(
            self._name,
            lambda: [(int(at), float(score)) for at, score in self._send(question, texts)],
            patience=self._patience,
        )
        if any(not 0 <= at < len(texts) or not np.isfinite(score) for at, score in found):
            raise ModelAnswerError(
                f"{self._name}: the provider answered no scores of the {len(texts)} texts; "
                "check that the model is one for reranking"
            )
        return found
