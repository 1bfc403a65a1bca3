"""Vectors of what a change adds, and the synonym edges that follow from them."""

from hlgraph.index.embed import MadeVectors, check_model, embed_change, embed_records, texts_of
from hlgraph.index.synonyms import SYNONYM_THRESHOLD, is_eligible, synonyms

__all__ = [
    "SYNONYM_THRESHOLD",
    "MadeVectors",
    "check_model",
    "embed_change",
    "embed_records",
    "is_eligible",
    "synonyms",
    "texts_of",
]
