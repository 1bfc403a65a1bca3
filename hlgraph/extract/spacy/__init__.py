"""Extraction with a spaCy pipeline (extra ``spacy``): statements by rules, names, kinds and facts also by spaCy."""

from hlgraph.extract.spacy._extractor import SpacyExtractor
from hlgraph.extract.spacy.spacy_model import DEFAULT_MODEL

__all__ = ["DEFAULT_MODEL", "SpacyExtractor"]
