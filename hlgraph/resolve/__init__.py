"""From what was read and extracted to one change: ids, what is new, what stays, what goes."""

from hlgraph.resolve.assemble import Extracted, assemble, removal
from hlgraph.resolve.compare import ChunkPlan, Comparison, compare, plan_chunks

__all__ = ["ChunkPlan", "Comparison", "Extracted", "assemble", "compare", "plan_chunks", "removal"]
