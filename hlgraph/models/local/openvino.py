"""Computes the graph of a local model in bfloat16 by OpenVINO, on processors that have instructions for it."""

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
    """The vectors ``(batch, hidden)`` of ``(ids, mask)``, both ``(batch, length)``; may be used by many threads at once.

    Weights and activations are rounded to bfloat16 (8 bits of precision) for products, which are summed in float32.
    Where the processor cannot do that, everything is float32. Nothing leaves this machine: OpenVINO's reports of use
    are not loaded (where the application has imported openvino before, that was the application's to decide).

    One batch is computed at a time, by all the threads: OpenVINO prepares itself for each new shape, and of requests that
    do so at once on few cores it is reported that they wait for one another for ever.

    Parameters
    ----------
    graph : ONNX file, which points into the weights beside it
    threads : processor cores to use for a batch

    Raises
    ------
    MissingExtraError : openvino is not installed
    ModelError : it cannot load the graph

    References
    ----------
    Kalamkar et al., A study of BFLOAT16 for deep learning training, 2019.
    """

    def __init__(self, graph: Path, *, threads: int) -> None:
        runtime = _imported()
        core = runtime.Core()
        # Asked for bfloat16, OpenVINO computes it on every processor: without the instructions a hundred times slower.
        has_bfloat16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        options = {
            "INFERENCE_PRECISION_HINT": "bf16" if has_bfloat16 else "f32",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": False,  # the caller's threads keep the cores that the system gives them
        }
        try:
            model = core.compile_model(core.read_model(graph), "CPU", options)
        except RuntimeError as error:
            raise ModelError(f"{graph}: openvino cannot load the model ({error}); get the model again") from error
        self._process = os.getpid()
        self._request = model.create_infer_request()
        self._turn = threading.Lock()
        self._parts = [core, model, self._request]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_abandon, weakref.ref(self)))

    @property
    def is_usable(self) -> bool:
        """Whether this is the process that loaded the model: the threads of OpenVINO do not survive a fork."""
        return self._process == os.getpid()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """Compute one batch; the result is the caller's own."""
        with self._turn:
            # The results of a request are copied: its buffers are written again by the next call.
            vectors: NDArray[np.float32] = self._request.infer([ids, mask])[0].copy()
        return vectors


def _abandon(reference: weakref.ref[OpenVinoModel]) -> None:
    """Never free the model in a forked process: freeing waits for threads that are not there, at its end at the latest."""
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
    """openvino sends a report when it is imported, unless the package that does so cannot be imported."""
    if _REPORTS in sys.modules:
        yield
        return
    sys.modules[_REPORTS] = None  # type: ignore[assignment]  # documented: importing it then fails
    try:
        yield
    finally:
        del sys.modules[_REPORTS]
