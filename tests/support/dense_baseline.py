"""A dense baseline without store or graph; the strategy ``chunk`` must give the same ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlgraph.algorithms.fusion import top_k
from hlgraph.evaluate.datasets import Passage, Question
from hlgraph.models.protocols import Embedder


def dense_baseline(
    passages: Sequence[Passage], questions: Sequence[Question], *, embedder: Embedder, k: int
) -> list[tuple[str, ...]]:
    """For each question the ids of the k passages with the highest dot product, best first; ties break by id.

    Questions are embedded one at a time, as a search does: the last digits may depend on what is computed together.
    """
    ids = np.array([passage.id for passage in passages], dtype=np.str_)
    matrix = embedder.embed([f"{item.title}\n{item.text}" if item.title else item.text for item in passages])
    scores = (matrix @ embedder.embed([question.text])[0] for question in questions)
    return [tuple(ids[top_k(row, k, tie_break=ids)].tolist()) for row in scores]
