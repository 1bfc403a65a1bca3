"""Tokens of texts in batches of similar length, for the models that run on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    import tokenizers

_TOKENS_AT_ONCE = 512  # the activations of such a batch fit the cache of one core


def load_tokenizer(path: Path, max_tokens: int, *, needed_for: str) -> tokenizers.Tokenizer:
    """The tokenizer of a ``tokenizer.json``, without padding; what is beyond ``max_tokens`` is cut off.

    Parameters
    ----------
    path : the file
    max_tokens : maximum number of tokens of a text, or of a pair of texts, with the special tokens
    needed_for : what needs it, for the error

    Returns
    -------
    tokenizers.Tokenizer
        The tokenizer.

    Raises
    ------
    MissingExtraError
        tokenizers is not installed.
    ModelError
        The file cannot be read.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise MissingExtraError("local", needed_for) from error
    try:
        data = path.read_bytes()
        msgspec.json.decode(data)
        tokenizer = tokenizers.Tokenizer.from_buffer(data)
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise ModelError(f"{path}: the tokenizer cannot be read ({error}); download the model again") from error
    # The file may still hold padding and truncation settings from training.
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def batches(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """Indices sorted by length, in batches of at most 512 tokens including padding, or of one text.

    Parameters
    ----------
    lengths : number of tokens of each text, at least one text

    Returns
    -------
    Iterator
        Indices of the texts of each batch.

    Examples
    --------
    >>> [batch.tolist() for batch in batches([300, 2, 250, 3])]
    [[1, 3], [2], [0]]
    """
    order = np.argsort(np.array(lengths), kind="stable")
    start = 0
    for end, index in enumerate(order):
        if end > start and lengths[index] * (end + 1 - start) > _TOKENS_AT_ONCE:
            yield order[start:end]
            start = end
    yield order[start:]


def padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of different lengths as one array, and which of its places hold a token.

    Parameters
    ----------
    rows : ids of tokens, at least one row
    pad_id : fills the shorter rows

    Returns
    -------
    tuple
        Ids and mask, both of shape (number of rows, length of the longest).

    Examples
    --------
    >>> ids, is_token = padded([[5, 6], [7]], 0)
    >>> ids.tolist(), is_token.tolist()
    ([[5, 6], [7, 0]], [[True, True], [True, False]])
    """
    lengths = np.array([len(row) for row in rows])
    is_token = np.arange(lengths.max()) < lengths[:, np.newaxis]
    ids = np.full(is_token.shape, pad_id, dtype=np.int64)
    ids[is_token] = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    return ids, is_token


def run_batches(
    compute: Callable[[NDArray[np.intp]], None], found: Sequence[NDArray[np.intp]], *, threads: int
) -> None:
    """Run all batches, several at once where there are threads; errors of a batch are raised. Tells the progress of ``embed``.

    Parameters
    ----------
    compute : computes one batch
    found : the batches
    threads : maximum number of batches at once
    """
    if len(found) == 1 or threads == 1:
        for batch in found:
            compute(batch)
            progress.advance("embed", len(batch))
        return
    pool = ThreadPoolExecutor(min(threads, len(found)))
    try:
        for batch, _ in zip(found, pool.map(compute, found), strict=True):  # re-raises errors of the threads
            progress.advance("embed", len(batch))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # after an error or Ctrl-C no other batch begins


def available_cores() -> int:
    """Number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
