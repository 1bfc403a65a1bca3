"""Propositions, mentions, facts and topics out of chunks: by rules, or from files that somebody else computed."""

from hlgraph.extract.local import LocalExtractor
from hlgraph.extract.precomputed import PrecomputedExtractor
from hlgraph.extract.seam import ChunkInput, Extractor

__all__ = ["ChunkInput", "Extractor", "LocalExtractor", "PrecomputedExtractor"]
