"""Counts of chat calls and their tokens."""

from __future__ import annotations

import threading

from hlgraph.models.seams import Completion


class Usage:
    """Running totals of calls and tokens. Thread-safe.

    Attributes
    ----------
    calls : paid calls so far
    input_tokens, output_tokens : their tokens; 0 if the provider does not report them
    kept : stored replies from earlier calls, which cost nothing and do not count as ``calls``
    left_out : names in replies that could not be used (extraction)

    Examples
    --------
    >>> usage = Usage()
    >>> usage.add(Completion("Yes.", input_tokens=12, output_tokens=2))
    >>> usage.calls, usage.input_tokens, usage.output_tokens
    (1, 12, 2)
    """

    def __init__(self) -> None:
        self.calls = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.kept = 0
        self.left_out = 0
        self._lock = threading.Lock()

    def add(self, completion: Completion) -> None:
        """Count one reply."""
        with self._lock:
            if completion.is_kept:
                self.kept += 1
                return
            self.calls += completion.calls
            self.input_tokens += completion.input_tokens
            self.output_tokens += completion.output_tokens

    def include(self, other: Usage) -> None:
        """Add the totals of another count."""
        with self._lock:
            self.calls += other.calls
            self.input_tokens += other.input_tokens
            self.output_tokens += other.output_tokens
            self.kept += other.kept
            self.left_out += other.left_out

    def leave_out(self, count: int) -> None:
        """Add to the number of names that were left out."""
        with self._lock:
            self.left_out += count
