"""Embedders and rerankers of remote providers: batching, checks and retries around the call to the provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import ModelAnswerError
from hlgraph.models.calls import PATIENT, Patience, call
from hlgraph.models.checked import check_width, unit_rows
from hlgraph.stores.batches import batched

EmbedCall = Callable[[list[str], bool], Iterable[Iterable[float]]]
"""Maps texts, and whether they are questions, to one vector per text."""

RerankCall = Callable[[str, list[str]], Iterable[tuple[int, float]]]
"""Maps a question and texts to pairs of a text's index and its score; texts may be missing."""

AT_ONCE = 4
"""Concurrent embedding calls to a hosted provider."""

_BLANK = " "  # providers refuse an empty text


class RemoteEmbedder:
    """An embedder of a provider: batches, normalises, checks and retries. Thread-safe.

    Parameters
    ----------
    name : ``provider:model``, the fingerprint
    send : embeds one batch
    batch : maximum number of texts per call
    dimensions : length of the vectors; default: that of the first ones
    parallel : maximum number of concurrent calls; default 1
    patience : the retry policy

    Attributes
    ----------
    fingerprint : provider and model, and the vector length if one was requested
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
        self.fingerprint = name
        self._send = send
        self._batch = batch
        self._parallel = parallel
        self._patience = patience
        self._dimensions = dimensions
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Length of every vector; embeds one word to find it if nothing was embedded yet."""
        if self._dimensions is None:
            self._rows(["length"], is_question=False)
        return self._dimensions or 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text.

        Raises
        ------
        ModelUnavailableError, ModelAccessError
            The provider does not answer, or refuses access.
        ModelAnswerError
            The answer is not one finite vector per text.
        ModelMismatchError
            The vectors differ in length from the earlier ones, or from ``dimensions``.
        """
        batches = list(batched(texts, self._batch))
        if not batches:
            return np.empty((0, self.dimensions), dtype=np.float32)
        if self._parallel == 1 or len(batches) == 1:
            return np.concatenate([_counted(self._rows(batch, is_question=False)) for batch in batches])
        pool = ThreadPoolExecutor(min(self._parallel, len(batches)), thread_name_prefix="hlgraph-embed")
        try:
            results = pool.map(lambda batch: self._rows(batch, is_question=False), batches)
            return np.concatenate([_counted(rows) for rows in results])
        finally:
            pool.shutdown(wait=True, cancel_futures=True)  # after an error no other batch begins

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """The L2-normalised vector of a question, in the model's mode for questions. Raises as :meth:`embed` does."""
        vector: NDArray[np.float32] = self._rows([question], is_question=True)[0]
        return vector

    def forget(self, texts: Sequence[str]) -> None:
        """Do nothing, since this embedder stores no texts."""

    def _rows(self, texts: list[str], *, is_question: bool) -> NDArray[np.float32]:
        sent = [text if text.strip() else _BLANK for text in texts]

        def send() -> NDArray[np.float64]:
            return np.array([list(vector) for vector in self._send(sent, is_question)], dtype=np.float64)

        rows = unit_rows(self.fingerprint, call(self.fingerprint, send, patience=self._patience), texts=sent)
        with self._lock:
            if self._dimensions is None:
                self._dimensions = rows.shape[1]
        check_width(self.fingerprint, rows.shape[1], expected=self._dimensions)
        return rows


def _counted(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows of one call, after reporting the progress."""
    progress.advance("embed", len(rows))
    return rows


class RemoteReranker:
    """A reranker of a provider: batches, checks and retries. Thread-safe.

    A text that the provider leaves out gets the lowest score minus 1. Scores of different batches are compared directly, so
    the provider must score each text independently of the others.

    Parameters
    ----------
    name : ``provider:model``, the fingerprint
    send : scores one batch
    batch : maximum number of texts per call; default 1000
    patience : the retry policy

    Attributes
    ----------
    fingerprint : provider and model
    """

    def __init__(self, name: str, send: RerankCall, *, batch: int = 1000, patience: Patience = PATIENT) -> None:
        self.fingerprint = name
        self._send = send
        self._batch = batch
        self._patience = patience

    def rerank(
        self,
        question: str,
        texts: Sequence[str],
        *,
        similarities: NDArray[np.float32] | None = None,  # noqa: ARG002 - part of the protocol; the model reads the texts
    ) -> NDArray[np.float32]:
        """One score per text, on the provider's scale; higher is better.

        Parameters
        ----------
        question : the question, plain text
        texts : the texts to score
        similarities : not used

        Returns
        -------
        NDArray
            Scores of shape ``(len(texts),)``, float32.

        Raises
        ------
        ModelUnavailableError, ModelAccessError
            The provider does not answer, or refuses access.
        ModelAnswerError
            The answer does not hold finite scores of these texts.
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
        scores = call(
            self.fingerprint,
            lambda: [(int(at), float(score)) for at, score in self._send(question, texts)],
            patience=self._patience,
        )
        if any(not 0 <= at < len(texts) or not np.isfinite(score) for at, score in scores):
            raise ModelAnswerError(
                f"{self.fingerprint}: the answer does not hold valid scores of the {len(texts)} texts; "
                "check that the model is a reranking model"
            )
        return scores
