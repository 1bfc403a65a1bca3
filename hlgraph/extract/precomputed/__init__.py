"""Read extractions that were made elsewhere: by batch inference, another tool, or a person. JSON lines, plain or gzip.

A line is a record in one of three forms, which are recognised by their fields. Unknown fields are ignored at the top level
of a record (``llm``, ``method``, ...); in nested objects they are errors, since they are probably typing mistakes.

Our own form::

    {"id": "report-7",                        the document's key (``id`` of its row), its uri, or the part of the uri after #
     "chunk": 0,                              optional: index of the chunk that this record is for
     "statements": [{
        "text": "Ada Lovelace wrote the first program.",
        "entities": ["Ada Lovelace", {"name": "first program", "kind": "work"}],
        "topics": ["computing"],
        "facts": [["Ada Lovelace", "wrote", "first program"],
                  {"subject": "Ada Lovelace", "predicate": "was born", "complement": "in 1815"}],
        "details": ["for the Analytical Engine"],
        "span": [0, 37]}],                    optional: offsets in the text of the chunk
     "topics": [], "entities": [], "triples": [["subject", "predicate", "object"]]}

Required are ``id`` and one of ``statements``, ``triples``, ``entities``. A fact written as an array, or with ``object``,
links two entities; one with ``complement`` ends in a literal.

Entities and triples of a passage: ``{"passage_id": ..., "entities": [...], "triples": [[s, p, o]]}``; an object that is not
among the entities is a literal. Propositions of a passage: ``{"passage_id": ..., "propositions": [{"text", "entities"}]}``.

Records with the same id, from one or several files, are merged: statements and propositions first, then triples and
entities are attached to the statements that name them (a triple: both ends, else the subject, else the first statement). If
there are only triples, each becomes a statement "subject predicate object".
"""

from hlgraph.extract.precomputed._extractor import PrecomputedExtractor

__all__ = ["PrecomputedExtractor"]
