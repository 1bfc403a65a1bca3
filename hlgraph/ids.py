"""Ids computed from content, so that reading the same thing twice gives the same node.

An id is the first 128 bits of SHA-256 over the kind and its canonical fields, each prefixed by its length in bytes, so that no
two inputs collide by concatenation. Properties that can change while the thing stays the same (metadata, the kind of an
entity, times) are not part of an id.
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
    """The id of a thing from its kind and canonical fields: 32 hexadecimal digits.

    Examples
    --------
    >>> content_id("topic", "ab", "c") == content_id("topic", "a", "bc")
    False
    """
    parts = [part.encode("utf-8", "surrogatepass") for part in (kind, *fields)]
    return hashlib.sha256(b"".join([len(data).to_bytes(8, "big") + data for data in parts])).hexdigest()[:32]


@functools.lru_cache(maxsize=65_536)
def normalise_name(name: str) -> str:
    """The canonical form of a name: NFKC-normalised, case-folded, with single spaces and without outer punctuation.

    Examples
    --------
    >>> normalise_name('  “The  BEACH”, ')
    'the beach'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SPACE.sub(" ", folded).strip(_EDGE)


def source_id(corpus: str, uri: str) -> str:
    """The id of a source, which depends on corpus and URI alone; its title and metadata may change.

    Parameters
    ----------
    corpus : name of the corpus
    uri : URI of the source

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return content_id(Kind.SOURCE, corpus, uri)


def chunk_id(source: str, text: str, occurrence: int) -> str:
    """The id of a chunk, which depends on its source and text.

    Parameters
    ----------
    source : id of the source
    text : text of the chunk
    occurrence : number of chunks with the same text before it in the source

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return content_id(Kind.CHUNK, source, text, str(occurrence))


def topic_id(source: str, name: str) -> str:
    """The id of a topic, which depends on its source and normalised name.

    Parameters
    ----------
    source : id of the source
    name : name of the topic, in any spelling

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return content_id(Kind.TOPIC, source, normalise_name(name))


def statement_id(source: str, text: str) -> str:
    """The id of a statement, which depends on its source and text.

    Parameters
    ----------
    source : id of the source
    text : text of the statement

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return content_id(Kind.STATEMENT, source, text)


def entity_id(corpus: str, name: str) -> str:
    """The id of an entity, which depends on its corpus and normalised name, never on its kind.

    Parameters
    ----------
    corpus : name of the corpus
    name : name of the entity, in any spelling

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return content_id(Kind.ENTITY, corpus, normalise_name(name))


def fact_id(corpus: str, subject: str, predicate: str, complement: str, *, is_literal: bool) -> str:
    """The id of a fact, which depends on its corpus and its normalised subject, predicate and complement.

    Parameters
    ----------
    corpus : name of the corpus
    subject : name of the subject
    predicate : the predicate
    complement : name of the object, or a literal
    is_literal : whether the complement is a literal, which differs from an entity of the same name

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    names = (normalise_name(subject), normalise_name(predicate), normalise_name(complement))
    return content_id(Kind.FACT, corpus, *names, "literal" if is_literal else "entity")


def checksum(*parts: str) -> str:
    """A fingerprint of texts, which changes if any of them does."""
    return content_id("checksum", *parts)
