"""From what was read and extracted to one change: ids, what is new, what stays, what goes."""

from hlgraph.resolve.assemble import Extracted, assemble, removal
from hlgraph.resolve.compare import (
    ChunkPlan,
    Comparison,
    awaited_hash,
    chunk_fingerprint,
    compare,
    complete,
    incomplete,
    is_incomplete,
    is_same_extraction,
    plan_chunks,
)

__all__ = [
    "ChunkPlan",
    "Comparison",
    "Extracted",
    "assemble",
    "awaited_hash",
    "chunk_fingerprint",
    "compare",
    "complete",
    "incomplete",
    "is_incomplete",
    "is_same_extraction",
    "plan_chunks",
    "removal",
]
