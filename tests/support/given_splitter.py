"""A splitter with the sub-queries of the test."""

from dataclasses import dataclass

from hlgraph.retrieve.question.subqueries import Splitter


@dataclass(frozen=True, slots=True)
class GivenSplitter(Splitter):
    """The same sub-queries for any question."""

    subqueries: tuple[str, ...]
    fingerprint: str = "given"

    def split(self, question: str) -> tuple[str, ...]:
        return self.subqueries
