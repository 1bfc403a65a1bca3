"""What callers may give, as a type checker sees it; mypy reads this file in ``make check``, nothing runs it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import date
from decimal import Decimal

import hlgraph
from hlgraph import Document, field


class Frame:
    """A data frame as the stubs of pandas have it: an iterable of the names of its columns."""

    columns: list[str]
    shape: tuple[int, int]

    def __iter__(self) -> Iterator[Hashable]:
        """The names."""
        return iter(self.columns)


def calls(graph: hlgraph.HLGraph, frame: Frame) -> None:
    """Sources and values of filters."""
    graph.ingest(frame)
    graph.ingest([frame, {"text": "Mara Quill left."}])
    graph.ingest(Document("doc:a", "a", metadata={"none": None, "cost": Decimal(1), "of": [date(2024, 1, 1), None]}))
    graph.search("Who?", where=field("cost") > Decimal("1.5"))
    graph.ingest(5)  # type: ignore[arg-type]
    graph.ingest([b"a"])  # type: ignore[list-item]
