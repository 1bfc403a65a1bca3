"""Extract propositions, mentions, facts and topics from chunks: by rules, with spaCy, from files, or with a chat model.

Two extractors need an extra; import them from ``hlgraph.extract.spacy`` and ``hlgraph.extract.chat``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlgraph.extract.extractor import ChunkInput, Extractor, Metered
from hlgraph.extract.precomputed import PrecomputedExtractor
from hlgraph.extract.quarantine import Quarantine, Quarantined

if TYPE_CHECKING:
    from hlgraph.extract.local import LocalExtractor

__all__ = ["ChunkInput", "Extractor", "LocalExtractor", "Metered", "PrecomputedExtractor", "Quarantine", "Quarantined"]


def __getattr__(name: str) -> object:
    """``LocalExtractor``, whose rules are imported at first use."""
    if name == "LocalExtractor":
        from hlgraph.extract.local import LocalExtractor

        return LocalExtractor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
