"""A splitter with the sub-queries of the test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GivenSplitter:
    """The same sub-queries for any question."""

    subqueries: tuple[str, ...]
    fingerprint: str = "given"

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        return self.subqueries
