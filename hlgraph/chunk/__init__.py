"""Chunking: cuts documents at boundaries that an edit elsewhere does not move."""

from hlgraph.chunk.chunker import Chunker, ContentDefinedChunker, PackedChunker, WholeChunker

__all__ = ["Chunker", "ContentDefinedChunker", "PackedChunker", "WholeChunker"]
