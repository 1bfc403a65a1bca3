"""Chunking: cuts documents at boundaries that an edit elsewhere does not move."""

from hlgraph.chunk.content_defined import ContentDefinedChunker
from hlgraph.chunk.seam import Chunker
from hlgraph.chunk.whole import WholeChunker

__all__ = ["Chunker", "ContentDefinedChunker", "WholeChunker"]
