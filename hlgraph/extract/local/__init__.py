"""Rule-based extraction."""

from hlgraph.extract.local._clauses import may_be_person, names_title, open_spans
from hlgraph.extract.local._extractor import LocalExtractor, Reading, read_chunk, title_for
from hlgraph.extract.local._lexicon import KIND_OF_NOUN, NOT_A_FIRST_NAME, keys_of
from hlgraph.extract.local._mentions import as_written
from hlgraph.extract.local._topics import Title
from hlgraph.extract.local._units import MentionSpan, Unit

__all__ = [
    "KIND_OF_NOUN",
    "NOT_A_FIRST_NAME",
    "LocalExtractor",
    "MentionSpan",
    "Reading",
    "Title",
    "Unit",
    "as_written",
    "keys_of",
    "may_be_person",
    "names_title",
    "open_spans",
    "read_chunk",
    "title_for",
]
