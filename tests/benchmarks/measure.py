"""What the benchmarks share: a table, medians, memory and disk, and an embedder that counts its own time."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hlgraph.models.protocols import Embedder

MEGABYTE = 1 << 20
_STATUS = Path("/proc/self/status")


def say(text: str = "") -> None:
    """One line of the report, shown at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows in columns: the first to the left, the others to the right."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    for row in cells:
        say(
            "  ".join(
                f"{cell:<{width}}" if not at else f"{cell:>{width}}"
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )


def verdict(value: float, limit: float) -> str:
    """Whether a value keeps its limit."""
    return "ok" if value < limit else "OVER"


def seconds_of(action: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def medians(actions: Sequence[Callable[[int], object]], *, runs: int) -> list[float]:
    """The median seconds of each action, which is given the number of the run; they take turns, so noise hits all alike."""
    found: list[list[float]] = [[] for _ in actions]
    for run in range(runs):
        for action, times in zip(actions, found, strict=True):
            start = time.perf_counter()
            action(run)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in found]


def peak_megabytes() -> float:
    """The most memory that this process ever held: mapped files (the vectors) and the model included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MEGABYTE if sys.platform == "darwin" else peak / 1024


def memory_line() -> str:
    """Peak memory and, on Linux, what is held now, apart by its own (anonymous) and mapped files."""
    line = f"peak RSS {peak_megabytes():,.0f} MB"
    if not _STATUS.exists():
        return line
    fields = dict(row.split(":", 1) for row in _STATUS.read_text().splitlines() if ":" in row)
    own, mapped = (int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))
    return f"{line} (now {own:,.0f} MB own, {mapped:,.0f} MB of mapped files)"


def megabytes_on_disk(folder: Path) -> dict[str, float]:
    """Size of each file of a folder, and of the folders in it, in MB by name."""
    sizes: dict[str, float] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).parts[0]
            sizes[name] = sizes.get(name, 0.0) + path.stat().st_size / MEGABYTE
    return sizes


class TimedEmbedder:
    """Another embedder, and the time that it took.

    Attributes
    ----------
    seconds, cpu_seconds : spent in the embedder (its cache included), by the clock and of all processors
    texts : given to it
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self.texts = 0

    @property
    def fingerprint(self) -> str:
        """That of the embedder."""
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        """That of the embedder."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same, timed."""
        start, cpu_start = time.perf_counter(), time.process_time()
        try:
            return self._inner.embed(texts)
        finally:
            self.seconds += time.perf_counter() - start
            self.cpu_seconds += time.process_time() - cpu_start
            self.texts += len(texts)

    def forget(self, texts: Sequence[str]) -> None:
        """The same."""
        self._inner.forget(texts)
