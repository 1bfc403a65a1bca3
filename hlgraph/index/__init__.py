"""Derived data, which can be rebuilt at any time: vectors, communities, layers of summaries."""

from hlgraph.index.embed import (
    MadeVectors,
    calibrating,
    check_model,
    embed_change,
    embed_records,
    embed_topics,
    indexed,
    is_due,
    made_vectors,
    texts_of,
)

__all__ = [
    "MadeVectors",
    "calibrating",
    "check_model",
    "embed_change",
    "embed_records",
    "embed_topics",
    "indexed",
    "is_due",
    "made_vectors",
    "texts_of",
]
