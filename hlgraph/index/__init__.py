"""Vectors of what a change adds, and the synonym edges that follow from them."""

from hlgraph.index.embed import check_model, embed_change, embed_records
from hlgraph.index.synonyms import SYNONYM_THRESHOLD, is_eligible, synonyms

__all__ = ["SYNONYM_THRESHOLD", "check_model", "embed_change", "embed_records", "is_eligible", "synonyms"]
