"""Loads onnxruntime with its telemetry off, and models into it; every import of it goes through here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    import onnxruntime


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
        onnxruntime cannot load the model.
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
    except (*refusals, errors.NotImplemented, errors.RuntimeException) as error:
        raise ModelError(f"{weights}: onnxruntime cannot load the model ({error}); download the model again") from error
