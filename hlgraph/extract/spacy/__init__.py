"""Extraction with a pipeline of spaCy (extra ``spacy``): statements by rules, kinds of names and facts also by its parse."""

from hlgraph.extract.spacy._extractor import SpacyExtractor
from hlgraph.extract.spacy.spacy_model import DEFAULT_MODEL

__all__ = ["DEFAULT_MODEL", "SpacyExtractor"]
