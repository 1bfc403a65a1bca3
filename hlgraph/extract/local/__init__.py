"""Rule-based extraction."""

from hlgraph.extract.local._extractor import LocalExtractor

__all__ = ["LocalExtractor"]
