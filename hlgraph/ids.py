"""Ids made from content, so that reading the same thing twice gives the same node.

An id is the first 128 bits of SHA-256 over the kind and its canonical fields, each prefixed by its length in bytes: no two
inputs collide by concatenation. Nothing that can change without the thing becoming another one (metadata, kind of an
entity, a moment) goes into an id.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata

from hlgraph.records import Kind

_EDGE = " \t\r\n\"'`“”‘’«»‹›„‚,;:()[]{}<>"
_SPACE = re.compile(r"\s+")


def content_id(kind: str, *fields: str) -> str:
    """The id of the thing of ``kind`` with these canonical fields: 32 hexadecimal digits.

    Examples
    --------
    >>> content_id("topic", "ab", "c") == content_id("topic", "a", "bc")
    False
    """
    parts = [part.encode("utf-8", "surrogatepass") for part in (kind, *fields)]
    return hashlib.sha256(b"".join([len(data).to_bytes(8, "big") + data for data in parts])).hexdigest()[:32]


@functools.lru_cache(maxsize=65_536)
def normalise_name(name: str) -> str:
    """The canonical form by which names are the same: compatibility-normalised, case-folded, one space, no outer quotes.

    Examples
    --------
    >>> normalise_name('  “The  BEACH”, ')
    'the beach'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SPACE.sub(" ", folded).strip(_EDGE)


def source_id(corpus: str, uri: str) -> str:
    """A source is the same source while corpus and uri are; its title and metadata may change."""
    return content_id(Kind.SOURCE, corpus, uri)


def chunk_id(source: str, text: str, occurrence: int) -> str:
    """A chunk is its text inside its source; ``occurrence`` counts equal texts from 0, top to bottom."""
    return content_id(Kind.CHUNK, source, text, str(occurrence))


def topic_id(source: str, name: str) -> str:
    """A topic is a normalised name inside one source."""
    return content_id(Kind.TOPIC, source, normalise_name(name))


def statement_id(source: str, text: str) -> str:
    """A statement is its text inside one source."""
    return content_id(Kind.STATEMENT, source, text)


def entity_id(corpus: str, name: str) -> str:
    """An entity is a normalised name inside a corpus, never its kind."""
    return content_id(Kind.ENTITY, corpus, normalise_name(name))


def fact_id(corpus: str, subject: str, predicate: str, complement: str, *, is_literal: bool) -> str:
    """A fact is normalised subject, predicate and object, one for the corpus; a literal is never the entity of its name."""
    names = (normalise_name(subject), normalise_name(predicate), normalise_name(complement))
    return content_id(Kind.FACT, corpus, *names, "literal" if is_literal else "entity")


def checksum(*parts: str) -> str:
    """A fingerprint of texts, for telling whether something changed."""
    return content_id("checksum", *parts)
