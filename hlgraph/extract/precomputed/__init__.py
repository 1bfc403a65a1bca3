"""The extractor that reads what was extracted elsewhere: batch inference, another tool, a person. JSON lines, ``.gz`` too.

A line is a record, in one of three forms that are told apart by their fields. Fields not named here are ignored at the top
of a record (``llm``, ``method``, ...) and are errors further inside, where they would be typing mistakes.

Our own::

    {"id": "report-7",                        the document's key (``id`` of its row), or its uri, or what follows # in it
     "chunk": 0,                              optional: the index of the chunk that this record is for
     "statements": [{
        "text": "Ada Lovelace wrote the first program.",
        "entities": ["Ada Lovelace", {"name": "first program", "kind": "work"}],
        "topics": ["computing"],
        "facts": [["Ada Lovelace", "wrote", "first program"],
                  {"subject": "Ada Lovelace", "predicate": "was born", "complement": "in 1815"}],
        "details": ["for the Analytical Engine"],
        "span": [0, 37]}],                    optional: offsets in the text of the chunk
     "topics": [], "entities": [], "triples": [["subject", "predicate", "object"]]}

All but ``id`` and one of ``statements``, ``triples``, ``entities`` is optional. A fact in brackets, and one with
``object``, joins two entities; one with ``complement`` ends in a literal.

Entities and triples of a passage: ``{"passage_id": ..., "entities": [...], "triples": [[s, p, o]]}``; an object that the
entities do not list is a literal. Propositions of a passage: ``{"passage_id": ..., "propositions": [{"text", "entities"}]}``.

Records of one id, from one or several files, are put together: statements and propositions first, then triples and entities
go to the statements that name them (both ends, else the subject, else the first statement). Where nothing but triples is
given, each triple becomes a statement "subject predicate object" of its own.
"""

from hlgraph.extract.precomputed._extractor import PrecomputedExtractor

__all__ = ["PrecomputedExtractor"]
