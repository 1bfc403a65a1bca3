"""The forms of answers without a model: "Yes: ...", a comparison, a count."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph.records import Answer, Evidence


def formed(
    question: str, pieces: Sequence[Evidence], evidence: Sequence[Evidence], *, uncovered: Sequence[str]
) -> Answer | None:
    return None
