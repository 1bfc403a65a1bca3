"""Extraction with a spaCy pipeline (extra ``spacy``): statements by rules, names, kinds and facts also by spaCy."""

from hlgraph.extract.spacy._extractor import DEFAULT_MODEL, SpacyExtractor

__all__ = ["DEFAULT_MODEL", "SpacyExtractor"]
