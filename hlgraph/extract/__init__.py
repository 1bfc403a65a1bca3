"""Propositions, mentions, facts and topics out of chunks: by rules, from files that somebody else computed, by a model.

The extractor by a chat model needs an extra and is imported from ``hlgraph.extract.chat``.
"""

from hlgraph.extract.local import LocalExtractor
from hlgraph.extract.precomputed import PrecomputedExtractor
from hlgraph.extract.quarantine import Quarantine, Quarantined
from hlgraph.extract.seam import ChunkInput, Extractor, Metered

__all__ = ["ChunkInput", "Extractor", "LocalExtractor", "Metered", "PrecomputedExtractor", "Quarantine", "Quarantined"]
