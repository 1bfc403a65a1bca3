"""Loads onnxruntime with its telemetry off, and models into it; every import of it goes through here."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    import onnxruntime

_NO_MEMORY = re.compile(r"bad_alloc|out of memory|(?:cannot|failed to|unable to) (?:allocate|map)", re.IGNORECASE)


def load_runtime() -> None:
    """Import onnxruntime with its telemetry off. Raises ImportError if it is not installed."""
    # From 1.29 on, onnxruntime sends usage reports unless this is set before its import; the reporting thread also keeps
    # a forked process from ending. The variable is only set here, never read.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: F401


def open_session(model: bytes | Path, *, weights: Path, needed_for: str) -> onnxruntime.InferenceSession:
    """A session of one thread on the CPU, which survives a fork and computes several batches at once.

    Parameters
    ----------
    model : the ONNX graph, or its file
    weights : file of the model, which errors name; weights outside of the graph are read from its folder
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
        onnxruntime cannot load the model; retryable where the memory did not suffice.
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
    """The error for a model that cannot be loaded: the memory did not suffice, else its file is damaged.

    Parameters
    ----------
    weights : file of the model
    error : what was raised

    Examples
    --------
    >>> print(not_loaded(Path("model.onnx"), MemoryError("std::bad_alloc")))
    model.onnx: not enough memory to load the model (std::bad_alloc); free some, or raise the limit of this process
    """
    is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if is_memory or _NO_MEMORY.search(str(error)):
        mend = "free some, or raise the limit of this process"
        return ModelError(f"{weights}: not enough memory to load the model ({error}); {mend}", retryable=True)
    return ModelError(f"{weights}: onnxruntime cannot load the model ({error}); download the model again")
