"""Ids computed from content, so that reading the same content twice gives the same node.

An id is the first 128 bits of SHA-256 over the kind and its canonical fields, each prefixed by its length in bytes, so that no
two inputs collide by concatenation. Properties that can change without changing the identity (metadata, the kind of an
entity, times) are not part of an id.

The first half of an id hashes the content without the name of the corpus, the second half hashes both. Records are ordered by
id, so two corpora of the same content have the same order under any name, but no id in common. A corpus that an older
hlgraph created keeps its scheme, in which both halves hash the name.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hlgraph.records import Kind, Source
from hlgraph.text import cached_by_text

_EDGE = " \t\r\n\"'`“”‘’«»‹›„‚,;:()[]{}<>"
_SPACE = re.compile(r"\s+")
_HALF = 16
WITH_NAME, WITHOUT_NAME = SCHEMES = 1, 2
"""The schemes of ids: both halves hash the name of the corpus, or only the second one."""


def content_id(kind: str, *fields: str) -> str:
    """The id of a record from its kind and canonical fields: 32 hexadecimal digits.

    Examples
    --------
    >>> content_id("topic", "ab", "c") == content_id("topic", "a", "bc")
    False
    """
    hashed = b""
    for part in (kind, *fields):
        data = part.encode("utf-8", "surrogatepass")
        hashed += len(data).to_bytes(8, "big") + data
    return hashlib.sha256(hashed).hexdigest()[:32]


def halved_id(kind: str, parts: Sequence[str], *, free: Sequence[str], scheme: int) -> str:
    """The id of a record in a corpus with the given scheme.

    Parameters
    ----------
    kind : its kind
    parts : its canonical fields, with the name of the corpus or ids that hash it
    free : the same fields without the name, with :func:`free_half` in place of ids
    scheme : scheme of the ids of the corpus
    """
    whole = content_id(kind, *parts)
    return whole if scheme == WITH_NAME else content_id(kind, *free)[:_HALF] + whole[_HALF:]


def free_half(name: str) -> str:
    """The half of an id that does not hash the name of the corpus."""
    return name[:_HALF]


def scheme_of(corpus: str, sources: Iterable[Source]) -> int:
    """The scheme of the ids of a corpus, determined from its sources; the scheme of new corpora if there are none.

    Parameters
    ----------
    corpus : name of the corpus
    sources : its sources; only the first one is examined
    """
    first = next(iter(sources), None)
    is_old = first is not None and first.id == source_id(corpus, first.uri, scheme=WITH_NAME)
    return WITH_NAME if is_old else WITHOUT_NAME


@cached_by_text(65_536)
def normalise_name(name: str) -> str:
    """The canonical form of a name: NFKC-normalised, case-folded, with single spaces and without outer punctuation.

    Examples
    --------
    >>> normalise_name('  “The  BEACH”, ')
    'the beach'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return _SPACE.sub(" ", folded).strip(_EDGE)


@cached_by_text(4_096)
def source_id(corpus: str, uri: str, *, scheme: int = WITHOUT_NAME) -> str:
    """The id of a source, which depends only on corpus and URI. Its title and metadata may change.

    Parameters
    ----------
    corpus : name of the corpus
    uri : URI of the source
    scheme : scheme of the ids of the corpus

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return halved_id(Kind.SOURCE, (corpus, uri), free=(uri,), scheme=scheme)


HISTORY = "@history"
"""End of the name of a corpus that holds the versions of the sources of another one."""
HISTORY_MARK = "hlgraph:history"
"""The uri of the source there that says since when the history is kept."""
HISTORY_FIELDS = ("history_from", "history_to", "history_version_from", "history_version_to", "history_state")
"""Metadata fields of a version there; they name versions of the other corpus, so no evidence shows them."""


def source_key(source: Source) -> str:
    """The text that the id of a source hashes beside its corpus: its uri, in a history with its version.

    Examples
    --------
    >>> [source_key(Source("", corpus, "doc:a", "", "", version=2)) for corpus in ("news", "news@history")]
    ['doc:a', 'doc:a@v2']
    """
    return f"{source.uri}@v{source.version}" if source.corpus.endswith(HISTORY) else source.uri


def shown(source: Source) -> Source:
    """A source as evidence shows it: a version without the fields that only serve the history.

    Parameters
    ----------
    source : a stored source
    """
    if not source.corpus.endswith(HISTORY):
        return source
    return replace(source, metadata={key: value for key, value in source.metadata.items() if key not in HISTORY_FIELDS})


def chunk_id(source: str, text: str, occurrence: int, *, scheme: int = WITHOUT_NAME) -> str:
    """The id of a chunk, which depends on its source and text.

    Parameters
    ----------
    source : id of the source
    text : text of the chunk
    occurrence : number of chunks with the same text before it in the source
    scheme : scheme of the ids of the corpus

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return _of_source(Kind.CHUNK, source, text, str(occurrence), scheme=scheme)


def topic_id(source: str, name: str, *, scheme: int = WITHOUT_NAME) -> str:
    """The id of a topic, which depends on its source and normalised name.

    Parameters
    ----------
    source : id of the source
    name : name of the topic, in any spelling
    scheme : scheme of the ids of the corpus

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return _of_source(Kind.TOPIC, source, normalise_name(name), scheme=scheme)


def statement_id(source: str, text: str, *, scheme: int = WITHOUT_NAME) -> str:
    """The id of a statement, which depends on its source and text.

    Parameters
    ----------
    source : id of the source
    text : text of the statement
    scheme : scheme of the ids of the corpus

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return _of_source(Kind.STATEMENT, source, text, scheme=scheme)


def entity_id(corpus: str, name: str, *, scheme: int = WITHOUT_NAME) -> str:
    """The id of an entity, which depends on its corpus and normalised name, never on its kind.

    Parameters
    ----------
    corpus : name of the corpus
    name : name of the entity, in any spelling
    scheme : scheme of the ids of the corpus

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    key = normalise_name(name)
    return halved_id(Kind.ENTITY, (corpus, key), free=(key,), scheme=scheme)


def fact_id(
    corpus: str, subject: str, predicate: str, complement: str, *, is_literal: bool, scheme: int = WITHOUT_NAME
) -> str:
    """The id of a fact, which depends on its corpus and its normalised subject, predicate and complement.

    Parameters
    ----------
    corpus : name of the corpus
    subject : name of the subject
    predicate : the predicate
    complement : name of the object, or a literal
    is_literal : whether the complement is a literal, which differs from an entity of the same name
    scheme : scheme of the ids of the corpus

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    names = (normalise_name(subject), normalise_name(predicate), normalise_name(complement))
    free = (*names, "literal" if is_literal else "entity")
    return halved_id(Kind.FACT, (corpus, *free), free=free, scheme=scheme)


def entity_ids(corpus: str, name: str) -> tuple[str, str]:
    """See :func:`entity_id`: the ids in both schemes, the scheme of new corpora first."""
    return entity_id(corpus, name), entity_id(corpus, name, scheme=WITH_NAME)


def source_ids(corpus: str, uri: str) -> tuple[str, str]:
    """See :func:`source_id`: the ids in both schemes, the scheme of new corpora first."""
    return source_id(corpus, uri), source_id(corpus, uri, scheme=WITH_NAME)


def beginnings(names: Iterable[str]) -> list[str]:
    """How the uris of the sources begin that these uris of files and folders contain.

    Examples
    --------
    >>> beginnings(["file:///d/", "file:///d/a.csv"])
    ['file:///d/', 'file:///d/a.csv#']
    """
    return sorted({name if name.endswith(("#", "/")) else f"{name}#" for name in names})


def _of_source(kind: Kind, source: str, *fields: str, scheme: int) -> str:
    return halved_id(kind, (source, *fields), free=(free_half(source), *fields), scheme=scheme)


def summary_id(about: str, summariser: str, below: Sequence[str], *, scheme: int = WITHOUT_NAME) -> tuple[str, str]:
    """The id of a summary, and the hash of its inputs.

    Parameters
    ----------
    about : id of its community or source
    summariser : fingerprint of the summariser
    below : ids of the summarised records, in ascending order
    scheme : scheme of the ids of the corpus
    """
    hashed = checksum(summariser, *below)
    free = (free_half(about), summariser, *map(free_half, below))
    return halved_id(Kind.SUMMARY, (about, hashed), free=free, scheme=scheme), hashed


def checksum(*parts: str) -> str:
    """A fingerprint of texts, which changes if any of them changes."""
    return content_id("checksum", *parts)
