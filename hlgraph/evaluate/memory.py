"""The memory of this process, as the operating system counts it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

_STATUS = Path("/proc/self/status")
_MEGABYTE = 1 << 20


class Memory(NamedTuple):
    """Memory in MB of 2 ** 20 bytes; None where the system does not report it.

    Attributes
    ----------
    peak : largest resident size so far, including mapped files
    own : current resident size without mapped files, which the system can reclaim at any time
    """

    peak: float | None
    own: float | None


def memory() -> Memory:
    """The memory of this process: from ``/proc`` on Linux, elsewhere only the peak, from ``getrusage``."""
    if _STATUS.exists():
        fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
        return Memory(*(int(fields[name].split()[0]) / 1024 for name in ("VmHWM", "RssAnon")))
    try:
        import resource
    except ImportError:
        return Memory(None, None)
    # Not used on Linux, where a new process inherits the peak of its parent.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Memory(peak / _MEGABYTE if sys.platform == "darwin" else peak / 1024, None)
