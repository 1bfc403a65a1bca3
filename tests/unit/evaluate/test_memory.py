"""Memory is that of this process, not of the one that started it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from hlgraph.evaluate.bench import memory

_SCRIPT = "from hlgraph.evaluate.bench import memory; found = memory(); print(found.peak, found.own)"
_MEGABYTES = 300


def test_memory_is_that_of_this_process() -> None:
    before = memory()
    held = np.ones(_MEGABYTES << 17)  # 8 bytes each
    during = memory()
    assert held.sum() == len(held)
    del held
    after = memory()
    assert before.peak is not None
    assert during.peak is not None
    assert after.peak is not None
    assert before.own is not None
    assert during.own is not None
    assert after.own is not None
    assert during.own - before.own >= 0.95 * _MEGABYTES
    assert after.own < during.own - 0.9 * _MEGABYTES
    assert min(after.peak, during.peak) >= during.own - 1  # the kernel counts in steps of some pages
    run = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    peak, own = map(float, run.stdout.split())
    assert own <= peak < _MEGABYTES
