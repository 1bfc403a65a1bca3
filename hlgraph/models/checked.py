"""Check every reply of a model at the call, so that nothing unusable reaches a store, a cache or a score.

A reply is checked for its type, the number of its rows, their length, finite numbers and their norm. An error of the model
itself becomes one of ours, see :func:`hlgraph.models.calls.mapped`. Numbers of any type are accepted, and vectors of any
length above 0: they are converted to float32 and normalised, because all searches compare cosines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError, ModelAnswerError, ModelMismatchError
from hlgraph.models.calls import mapped
from hlgraph.models.protocols import Completion, Embedder, EmbedQuestion, Reranker
from hlgraph.text import UNSTORABLE

_UNIT = 1e-4  # largest difference of a squared norm from 1 that is rounding
_ZERO = 1e-12  # a vector whose numbers are all smaller has no direction
_NUMBERS = "fiu"  # kinds of NumPy types
_MOST = 1 << 53  # above every count; a file of SQLite holds no integer above 2^63
_EXCERPT = 40


def unit_rows(model: str, reply: object, *, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of a reply, as L2-normalised float32 rows; rows that are unit vectors already are not changed.

    Parameters
    ----------
    model : name of the model, for errors
    reply : what the model returned
    texts : what it was asked about, at least one; the vector of a blank text may be zero: it becomes the first unit vector

    Returns
    -------
    NDArray
        One row per text.

    Raises
    ------
    ModelAnswerError
        The reply is not one finite vector per text, or the vector of a text that is not blank is zero.
    """
    numbers = _numbers(reply)
    if numbers is None or numbers.ndim != 2 or len(numbers) != len(texts) or not numbers.shape[1]:
        raise _unusable(model, reply, asked=f"{len(texts)} texts", wanted="one vector of finite numbers per text")
    if numbers.dtype == np.float32:
        same: NDArray[np.float32] = numbers.view(np.float32)
        with np.errstate(all="ignore"):  # a number that is not finite makes the norm so: one pass checks both
            if (np.abs(np.vecdot(same, same) - 1) < _UNIT).all():
                return same
    rows = numbers.astype(np.float64)
    is_finite = np.isfinite(rows).all(axis=1)
    if not is_finite.all():
        at = int(np.argmin(is_finite))
        raise ModelAnswerError(
            f"{model}: the vector of text {at + 1} of {len(texts)} ({_excerpt(texts[at])}) has numbers that are not finite; "
            "check the model and the precision that it computes with"
        )
    largest = np.abs(rows).max(axis=1, keepdims=True)
    for at in np.flatnonzero(largest[:, 0] < _ZERO).tolist():
        if texts[at].strip():
            raise ModelAnswerError(
                f"{model}: the vector of text {at + 1} of {len(texts)} ({_excerpt(texts[at])}) is zero, so it has no direction "
                "and no cosine; use a model that returns another vector for every text, also for unknown words"
            )
        rows[at, 0] = largest[at] = 1.0
    rows /= largest  # or the squares of very large and very small numbers would leave the range of float64
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def check_width(model: str, width: int, *, expected: int) -> None:
    """Check the length of vectors. Raises ModelMismatchError.

    Parameters
    ----------
    model : name of the model, for errors
    width : length of the vectors of the reply
    expected : declared length, or length of earlier vectors
    """
    if width != expected:
        raise ModelMismatchError(
            f"{model}: a vector has {width} dimensions, but {expected} were expected; "
            "correct the dimensions or the name of the model"
        )


def checked_completion(model: str, reply: object) -> Completion:
    """The reply of a chat model; a character that no store can hold becomes U+FFFD.

    Parameters
    ----------
    model : name of the model, for errors
    reply : what the model returned

    Raises
    ------
    ModelAnswerError
        It is not a Completion with a text and two token counts.
    """
    if not isinstance(reply, Completion):
        raise _unusable(model, reply, asked="a request", wanted="a hlgraph.models.Completion")
    if not isinstance(reply.text, str):
        raise _unusable(model, reply.text, asked="the text of its reply", wanted="a str")
    for count in (reply.input_tokens, reply.output_tokens):
        if not _is_count(count):
            raise ModelAnswerError(f"{model}: a reply counts {count!r} tokens; return an integer, 0 if it is not known")
    text = storable(reply.text)
    return reply if text is reply.text else replace(reply, text=text)


def storable(text: str) -> str:
    """The text with U+FFFD for each character that no store can hold; the same object if it has none.

    Parameters
    ----------
    text : a reply of a chat model, or a piece of one
    """
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text) if UNSTORABLE.search(text) else text


class CheckedEmbedder:
    """An embedder whose every reply is checked. Thread-safe if the wrapped embedder is.

    Parameters
    ----------
    inner : the embedder; it may lack ``forget`` if it stores no texts
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def fingerprint(self) -> str:
        """The wrapped embedder's fingerprint. Raises InputError if it is not a text."""
        return _name(self._inner)

    @property
    def cache_name(self) -> str:
        """The wrapped embedder's name in a cache; default: its fingerprint."""
        return getattr(self._inner, "cache_name", self.fingerprint)

    @property
    def dimensions(self) -> int:
        """Length of every vector. Raises InputError if the embedder declares no positive integer."""
        declared = mapped(self.fingerprint, lambda: self._inner.dimensions)
        if not _is_count(declared) or not declared:
            raise InputError(
                f"{self.fingerprint}: the embedder declares {declared!r} dimensions; let its property dimensions return the "
                "length of its vectors"
            )
        return int(declared)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per text; without texts the model is not called.

        Raises
        ------
        ModelUnavailableError, ModelAccessError
            The model cannot be reached, or refuses access.
        ModelAnswerError
            The reply is not one finite vector per text, or the vector of a text with words is zero.
        ModelMismatchError
            The vectors have another length than the embedder declares.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        reply = mapped(self.fingerprint, lambda: _whole(self._inner.embed(texts)))
        return self._fitting(unit_rows(self.fingerprint, reply, texts=texts))

    def embed_question(self, question: str) -> NDArray[np.float32]:
        """The L2-normalised vector of a question. Raises as :meth:`embed` does."""
        embed_question: EmbedQuestion | None = getattr(self._inner, "embed_question", None)
        if embed_question is None:
            vector: NDArray[np.float32] = self.embed([question])[0]
            return vector
        reply = mapped(self.fingerprint, lambda: _whole(embed_question(question)))
        numbers = _numbers(reply)
        if numbers is None or numbers.ndim != 1:
            raise _unusable(self.fingerprint, reply, asked="a question", wanted="one vector of finite numbers")
        return self._fitting(unit_rows(self.fingerprint, numbers[np.newaxis], texts=[question]))[0]  # type: ignore[no-any-return]

    def forget(self, texts: Sequence[str]) -> None:
        """Delete whatever the wrapped embedder holds about these texts."""
        forget = getattr(self._inner, "forget", None)
        if forget is not None:
            mapped(self.fingerprint, lambda: forget(texts))

    def _fitting(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        check_width(self.fingerprint, rows.shape[1], expected=self.dimensions)
        return rows


class CheckedReranker:
    """A reranker whose every reply is checked. Thread-safe if the wrapped reranker is.

    Parameters
    ----------
    inner : the reranker
    """

    def __init__(self, inner: Reranker) -> None:
        self._inner = inner

    @property
    def fingerprint(self) -> str:
        """The wrapped reranker's fingerprint. Raises InputError if it is not a text."""
        return _name(self._inner)

    def rerank(
        self, question: str, texts: Sequence[str], *, similarities: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """See :class:`hlgraph.models.protocols.Reranker`; without texts the model is not called.

        Raises
        ------
        ModelUnavailableError, ModelAccessError
            The model cannot be reached, or refuses access.
        ModelAnswerError
            The reply is not one finite score per text.
        """
        if not texts:
            return np.empty(0, dtype=np.float32)
        name = self.fingerprint
        reply = mapped(name, lambda: _whole(self._inner.rerank(question, texts, similarities=similarities)))
        numbers = _numbers(reply)
        wanted = "one finite score per text"
        if numbers is None or numbers.shape != (len(texts),):
            raise _unusable(name, reply, asked=f"{len(texts)} texts", wanted=wanted)
        with np.errstate(over="ignore"):
            scores: NDArray[np.float32] = numbers.astype(np.float32)
        if not np.isfinite(scores).all():
            at = int(np.argmin(np.isfinite(scores)))
            place = f"text {at + 1} of {len(texts)} ({_excerpt(texts[at])})"
            raise _unusable(name, numbers[at], asked=place, wanted=wanted)
        return scores


def _name(model: Embedder | Reranker) -> str:
    """The fingerprint of a model."""
    fingerprint: object = mapped(type(model).__name__, lambda: model.fingerprint)
    if not isinstance(fingerprint, str) or not fingerprint.strip():
        raise InputError(
            f"{type(model).__name__}: its fingerprint is {fingerprint!r}; let the property return the name and version of the "
            "model, as a text that is not empty"
        )
    return fingerprint


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and 0 <= int(value) < _MOST


def _whole(reply: object) -> object:
    """A reply whose rows come one by one, such as those of a generator, as a list."""
    return list(reply) if isinstance(reply, Iterable) and not hasattr(reply, "__len__") else reply


def _numbers(reply: object) -> NDArray[np.floating[Any] | np.integer[Any]] | None:
    """The reply as an array; None if it does not consist of numbers."""
    try:
        array = np.asarray(reply)
    except (
        TypeError,
        ValueError,
        RuntimeError,
        OverflowError,
    ):  # rows of different lengths, a tensor on another device
        return None
    return array if array.dtype.kind in _NUMBERS else None


def _unusable(model: str, reply: object, *, asked: str, wanted: str) -> ModelAnswerError:
    shape = getattr(reply, "shape", None)
    if shape is not None:
        came = f"numbers of the shape {tuple(shape)}" if tuple(shape) else str(reply)
    elif isinstance(reply, (list, tuple)):
        came = f"a {type(reply).__name__} of {len(reply)} items that is not an array of that shape"
    else:
        came = "None" if reply is None else f"a {type(reply).__name__}"
    return ModelAnswerError(
        f"{model}: for {asked} the model returned {came}, not {wanted}; correct the model or its name"
    )


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}...")
