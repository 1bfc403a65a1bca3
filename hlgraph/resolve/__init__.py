"""From what was read and extracted to one change: ids, what is new, what stays, what goes."""

from hlgraph.resolve.assemble import Extracted, assemble, removal
from hlgraph.resolve.compare import (
    ChunkPlan,
    Comparison,
    chunk_fingerprint,
    compare,
    complete,
    extraction_hash,
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
    "chunk_fingerprint",
    "compare",
    "complete",
    "extraction_hash",
    "incomplete",
    "is_incomplete",
    "is_same_extraction",
    "plan_chunks",
    "removal",
]
