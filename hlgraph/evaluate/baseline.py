"""The plain dense baseline, computed by itself: no store, no graph. Strategy `chunk` must give the same ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlgraph.algorithms.topk import top_k
from hlgraph.evaluate.datasets import Passage, Question
from hlgraph.models.seams import Embedder


def dense_baseline(
    passages: Sequence[Passage], questions: Sequence[Question], *, embedder: Embedder, k: int
) -> list[tuple[str, ...]]:
    """The k passages whose vectors have the highest dot product with that of the question, ties by id.

    Each passage is embedded as its title, a line break and its text (its text alone where it has no title); the vectors
    are compared as the embedder gives them, normalised. Questions are embedded and compared one by one, as a search
    does: the last digits may depend on what is computed together.

    Parameters
    ----------
    passages
        The corpus; its vectors are held in memory at once.
    questions
        What is asked.
    embedder
        The model.
    k
        How many passages a question.

    Returns
    -------
    list
        One tuple of passage ids a question, best first.
    """
    ids = np.array([passage.id for passage in passages], dtype=np.str_)
    texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]
    matrix = embedder.embed(texts)
    rankings = []
    for question in questions:
        scores = matrix @ embedder.embed([question.text])[0]
        rankings.append(tuple(ids[top_k(scores, k, tie_break=ids)].tolist()))
    return rankings
