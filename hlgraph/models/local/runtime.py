"""Loads onnxruntime with its telemetry off; every import of it goes through here."""

from __future__ import annotations

import os


def load_runtime() -> None:
    """Import onnxruntime with its telemetry off. Raises ImportError if it is not installed."""
    # From 1.29 on, onnxruntime sends usage reports unless this is set before its import; the reporting thread also keeps
    # a forked process from ending. The variable is only set here, never read.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: F401
