"""Derived data, which can be rebuilt at any time: vectors, communities, layers of summaries."""

from hlgraph.index.embed import (
    PrecomputedVectors,
    calibrating,
    check_model,
    embed_change,
    embed_records,
    embed_topics,
    indexed,
    is_due,
    precomputed_vectors,
    texts_of,
)

__all__ = [
    "PrecomputedVectors",
    "calibrating",
    "check_model",
    "embed_change",
    "embed_records",
    "embed_topics",
    "indexed",
    "is_due",
    "precomputed_vectors",
    "texts_of",
]
