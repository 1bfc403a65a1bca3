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
    """The k passages whose vectors have the highest dot product with each question's vector; ties break by id.

    A passage is embedded as its title, a line break and its text, or as its text alone if it has no title. Vectors are
    normalised, as the embedder gives them. Questions are embedded and compared one at a time, as a search does, since the
    last digits may depend on what is computed together.

    Parameters
    ----------
    passages : the corpus; all its vectors are held in memory
    questions : the questions to ask
    embedder : the embedding model
    k : number of passages per question

    Returns
    -------
    list[tuple[str, ...]]
        Passage ids for each question, best first.
    """
    ids = np.array([passage.id for passage in passages], dtype=np.str_)
    texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]
    matrix = embedder.embed(texts)
    rankings = []
    for question in questions:
        scores = matrix @ embedder.embed([question.text])[0]
        rankings.append(tuple(ids[top_k(scores, k, tie_break=ids)].tolist()))
    return rankings
