"""Extract propositions, mentions, facts and topics from chunks: by rules, with spaCy, from files, or with a chat model.

Two extractors need an extra; import them from ``hlgraph.extract.spacy`` and ``hlgraph.extract.chat``.
"""

from hlgraph.extract.extractor import ChunkInput, Extractor, Metered
from hlgraph.extract.local import LocalExtractor
from hlgraph.extract.precomputed import PrecomputedExtractor
from hlgraph.extract.quarantine import Quarantine, Quarantined

__all__ = ["ChunkInput", "Extractor", "LocalExtractor", "Metered", "PrecomputedExtractor", "Quarantine", "Quarantined"]
