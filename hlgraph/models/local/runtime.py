"""Loads onnxruntime, in the one way in which it may be loaded."""

from __future__ import annotations

import os


def load_runtime() -> None:
    """Import onnxruntime with its reports switched off. Raises ImportError when it is not installed."""
    # From 1.29 on onnxruntime reports its use to its makers unless this is set before it is imported; what reports also
    # keeps a forked process from ending. (Set, not read: nobody's choice is looked at.)
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: F401
