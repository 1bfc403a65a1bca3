"""Persisting: compares documents with the stores, assembles one change, and writes it to both stores by the journal."""

from hlgraph.persist.assemble import Extracted, assemble, links_about, removal, topic_rows
from hlgraph.persist.compare import (
    ChunkPlan,
    Comparison,
    awaited_hash,
    chunk_fingerprint,
    compare,
    complete,
    damaged,
    incomplete,
    is_damaged,
    is_incomplete,
    is_same_extraction,
    plan_chunks,
    untrue,
)
from hlgraph.persist.journal import abandon, check_left, finish, persist, resume

__all__ = [
    "ChunkPlan",
    "Comparison",
    "Extracted",
    "abandon",
    "assemble",
    "awaited_hash",
    "check_left",
    "chunk_fingerprint",
    "compare",
    "complete",
    "damaged",
    "finish",
    "incomplete",
    "is_damaged",
    "is_incomplete",
    "is_same_extraction",
    "links_about",
    "persist",
    "plan_chunks",
    "removal",
    "resume",
    "topic_rows",
    "untrue",
]
