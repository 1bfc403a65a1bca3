"""Run local models with onnxruntime or OpenVINO, their telemetry off: sessions, tokenizers, batches of similar length."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers


_NO_MEMORY = re.compile(r"bad_alloc|out of memory|(?:cannot|failed to|unable to) (?:allocate|map)", re.IGNORECASE)


def load_runtime() -> None:
    """Import onnxruntime with its telemetry off; nothing else imports it first. Raises ImportError if it is not installed."""
    # From 1.29 on, onnxruntime sends usage reports unless this is set before its import; the reporting thread also keeps
    # a forked process from ending. The variable is only set here, never read.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: F401


def open_session(model: bytes | Path, *, weights: Path, needed_for: str) -> onnxruntime.InferenceSession:
    """A single-threaded session on the CPU. It survives a fork and can compute several batches at once.

    Parameters
    ----------
    model : the ONNX graph, or its file
    weights : model file named in errors; weights outside the graph are read from its folder
    needed_for : what needs it, for the error

    Returns
    -------
    onnxruntime.InferenceSession
        The session.

    Raises
    ------
    MissingExtraError
        onnxruntime is not installed.
    ModelError
        onnxruntime cannot load the model; retryable if there was not enough memory.
    """
    try:
        load_runtime()
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as errors
    except ImportError as error:
        raise MissingExtraError("local", needed_for) from error
    onnxruntime.disable_telemetry_events()  # Windows needs this call too
    options = onnxruntime.SessionOptions()
    # One thread per batch and several batches in parallel: threads do not wait for each other after every layer, and a
    # session without threads of its own survives a fork.
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # errors only, which are raised as well
    if isinstance(model, bytes):
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights.parent))
    refusals = (errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.InvalidProtobuf, errors.NoSuchFile)
    try:
        return onnxruntime.InferenceSession(
            model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
        )
    except (*refusals, errors.NotImplemented, errors.RuntimeException, MemoryError, OSError) as error:
        raise not_loaded(weights, error) from error


def not_loaded(weights: Path, error: Exception) -> ModelError:
    """The error for a model that cannot be loaded, because there is not enough memory or its file is damaged.

    Parameters
    ----------
    weights : file of the model
    error : the exception of the runtime

    Examples
    --------
    >>> print(not_loaded(Path("model.onnx"), MemoryError("std::bad_alloc")))
    model.onnx: not enough memory to load the model (std::bad_alloc); free some, or raise the limit of this process
    """
    is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if is_memory or _NO_MEMORY.search(str(error)):
        remedy = "free some, or raise the limit of this process"
        return ModelError(f"{weights}: not enough memory to load the model ({error}); {remedy}", retryable=True)
    return ModelError(f"{weights}: onnxruntime cannot load the model ({error}); download the model again")


# OpenVINO, in bfloat16 on processors that have instructions for it.

_REPORTS = "openvino_telemetry"


class OpenVinoModel:
    """Maps ``(ids, mask)``, both of shape ``(batch, length)``, to vectors of shape ``(batch, hidden)``. Thread-safe.

    Products use weights and activations rounded to bfloat16 (8 bits of precision), and are summed in float32. On
    processors without bfloat16, everything is float32. Nothing leaves this machine: OpenVINO's telemetry package is not
    loaded, unless the application imported openvino earlier.

    One batch is computed at a time, on all threads: OpenVINO compiles for each new shape, and concurrent compilations
    on few cores are reported to deadlock.

    Parameters
    ----------
    graph : ONNX file that refers to the weights file beside it
    threads : processor cores to use for a batch

    Raises
    ------
    MissingExtraError
        openvino is not installed.
    ModelError
        openvino cannot load the graph.

    References
    ----------
    Kalamkar et al., A study of BFLOAT16 for deep learning training, 2019.
    """

    def __init__(self, graph: Path, *, threads: int) -> None:
        runtime = _imported()
        core = runtime.Core()
        # OpenVINO computes bfloat16 on any processor on request, but a hundred times slower without the instructions.
        has_bfloat16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        options = {
            "INFERENCE_PRECISION_HINT": "bf16" if has_bfloat16 else "f32",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": False,  # the system decides on which cores the caller's threads run
        }
        try:
            model = core.compile_model(core.read_model(graph), "CPU", options)
        except RuntimeError as error:
            raise ModelError(f"{graph}: openvino cannot load the model ({error}); download the model again") from error
        self._process = os.getpid()
        self._request = model.create_infer_request()
        self._lock = threading.Lock()
        self._parts = [core, model, self._request]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_abandon, weakref.ref(self)))

    @property
    def is_usable(self) -> bool:
        """Whether this process loaded the model; False after a fork, which OpenVINO's threads do not survive."""
        return self._process == os.getpid()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors of one batch, in a new array."""
        with self._lock:
            # Copied, since the next call overwrites the buffers of the request.
            vectors: NDArray[np.float32] = self._request.infer([ids, mask])[0].copy()
        return vectors


def _abandon(reference: weakref.ref[OpenVinoModel]) -> None:
    """Keep the model from being freed in a forked process, where freeing would wait for threads that do not exist."""
    model = reference()
    for part in model._parts if model else ():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(part))


def _imported() -> ModuleType:
    """The package openvino, imported without the package through which it would send a report."""
    is_blocked = _REPORTS not in sys.modules
    if is_blocked:
        sys.modules[_REPORTS] = None  # type: ignore[assignment]  # documented: makes its import fail
    try:
        import openvino
    except ImportError as error:
        raise MissingExtraError("openvino", "computing the local embedding model with OpenVINO") from error
    finally:
        if is_blocked:
            del sys.modules[_REPORTS]
    module: ModuleType = openvino
    return module


# Tokens of texts, in batches of similar length.

_TOKENS_AT_ONCE = 512  # the activations of such a batch fit the cache of one core


def load_tokenizer(path: Path, max_tokens: int, *, needed_for: str) -> tokenizers.Tokenizer:
    """The tokenizer in a ``tokenizer.json``, without padding; truncates to ``max_tokens``.

    Parameters
    ----------
    path : path of ``tokenizer.json``
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


def valid_utf8(text: str) -> str:
    """The text as valid UTF-8, which tokenizers need; a damaged source may contain a lone surrogate."""
    return text.encode("utf-8", "replace").decode("utf-8")


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
    """Rows of different lengths, padded to one array, and a mask of the positions that hold a token.

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
    compute: Callable[[NDArray[np.intp]], None], index_batches: Sequence[NDArray[np.intp]], *, threads: int
) -> None:
    """Run all batches, up to ``threads`` at once. Raises the error of a batch that fails; reports the progress of ``embed``.

    Parameters
    ----------
    compute : computes one batch
    index_batches : indices of the texts of each batch
    threads : maximum number of batches at once
    """
    if len(index_batches) == 1 or threads == 1:
        for batch in index_batches:
            compute(batch)
            progress.advance("embed", len(batch))
        return
    pool = ThreadPoolExecutor(min(threads, len(index_batches)))
    try:
        results = pool.map(compute, index_batches)  # re-raises errors of the threads
        for batch, _ in zip(index_batches, results, strict=True):
            progress.advance("embed", len(batch))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # after an error or Ctrl-C no other batch starts


def available_cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
