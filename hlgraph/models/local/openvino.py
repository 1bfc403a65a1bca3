"""Runs a local embedding model with OpenVINO, in bfloat16 on processors that have instructions for it."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import MissingExtraError, ModelError

_REPORTS = "openvino_telemetry"


class OpenVinoModel:
    """Maps ``(ids, mask)``, both of shape ``(batch, length)``, to vectors of shape ``(batch, hidden)``. Thread-safe.

    Weights and activations are rounded to bfloat16 (8 bits of precision) for products, which are summed in float32. On
    processors without bfloat16 everything is float32. Nothing leaves this machine: OpenVINO's telemetry package is not
    loaded, unless the application imported openvino earlier.

    One batch is computed at a time, on all threads: OpenVINO compiles for each new shape, and concurrent requests that do so
    on few cores are reported to deadlock.

    Parameters
    ----------
    graph : ONNX file, which refers to the weights file beside it
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
            "ENABLE_CPU_PINNING": False,  # leaves the cores of the caller's threads to the system
        }
        try:
            model = core.compile_model(core.read_model(graph), "CPU", options)
        except RuntimeError as error:
            raise ModelError(f"{graph}: openvino cannot load the model ({error}); download the model again") from error
        self._process = os.getpid()
        self._request = model.create_infer_request()
        self._turn = threading.Lock()
        self._parts = [core, model, self._request]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_abandon, weakref.ref(self)))

    @property
    def is_usable(self) -> bool:
        """Whether this process loaded the model; False after a fork, which OpenVINO's threads do not survive."""
        return self._process == os.getpid()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors of one batch, in a new array."""
        with self._turn:
            # Copied, since the next call overwrites the buffers of the request.
            vectors: NDArray[np.float32] = self._request.infer([ids, mask])[0].copy()
        return vectors


def _abandon(reference: weakref.ref[OpenVinoModel]) -> None:
    """Keeps the model from being freed in a forked process, where freeing would wait for threads that do not exist."""
    model = reference()
    for part in model._parts if model else ():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(part))


def _imported() -> ModuleType:
    with _no_reports():
        try:
            import openvino
        except ImportError as error:
            raise MissingExtraError("openvino", "computing the local embedding model with OpenVINO") from error
    module: ModuleType = openvino
    return module


@contextmanager
def _no_reports() -> Iterator[None]:
    """Blocks the package through which openvino would send a report when it is imported."""
    if _REPORTS in sys.modules:
        yield
        return
    sys.modules[_REPORTS] = None  # type: ignore[assignment]  # documented: makes an import of it fail
    try:
        yield
    finally:
        del sys.modules[_REPORTS]
