"""How much memory this process holds, as the system counts it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

_STATUS = Path("/proc/self/status")
_MEGABYTE = 1 << 20


class Memory(NamedTuple):
    """Megabytes of 2 ** 20 bytes; None where the system does not say.

    Attributes
    ----------
    peak : the most that was ever resident, mapped files included
    own : resident now without mapped files, which the system may take back at any time
    """

    peak: float | None
    own: float | None


def memory() -> Memory:
    """What this process holds: from ``/proc`` on Linux, else the peak alone from ``getrusage``."""
    if _STATUS.exists():
        fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
        return Memory(*(int(fields[name].split()[0]) / 1024 for name in ("VmHWM", "RssAnon")))
    try:
        import resource
    except ImportError:
        return Memory(None, None)
    # Not used on Linux: there a new process begins with the peak of the one that started it.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Memory(peak / _MEGABYTE if sys.platform == "darwin" else peak / 1024, None)
