"""The extractor protocol, its input, and what extractors share: search in a chunk's text, and samples of a corpus.

Implementations: local (rules), spacy (rules and a parser), precomputed (files), chat (a model).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from hlgraph import progress
from hlgraph.chunk import Chunker
from hlgraph.ids import checksum, source_id
from hlgraph.models.accounts.budget import Usage
from hlgraph.read import ReadFailure, inadmissible
from hlgraph.read.table_mapping import TableMapping
from hlgraph.records import Detail, Document, Extraction, Mention, Proposition, Triple
from hlgraph.text import content_words, sentences, words


@dataclass(frozen=True, slots=True)
class ChunkInput:
    """One chunk with its context.

    Attributes
    ----------
    text : text of the chunk
    title : title of the document
    headings : headings above the chunk, outermost first
    uri : uri of the source
    key : identifier in the document's row; None if it has none
    position : index of the chunk in its source, from 0
    chunk_count : number of chunks of the source
    source : id of the source; empty if it is in no corpus
    above : what its first block rests on, such as the header of a table, see :class:`hlgraph.text.Context`
    noted : what the file says of parts of the chunk, with offsets in it; added to the details of the statements over them
    """

    text: str
    title: str = ""
    headings: tuple[str, ...] = ()
    uri: str = ""
    key: str | None = None
    position: int = 0
    chunk_count: int = 1
    source: str = ""
    above: str = ""
    noted: tuple[Detail, ...] = ()

    @property
    def surroundings(self) -> tuple[str, ...]:
        """The title, the headings, the lines above and the file's details: what a fingerprint covers besides the text."""
        noted = (f"{start}:{end}:{text}" for start, end, text in self.noted)
        return (self.title, *self.headings, *([self.above] if self.above else []), *noted)


def shown_fingerprint(extractor: str, chunk: ChunkInput) -> str:
    """Hash of an extractor's fingerprint and of everything in a chunk that a chat model gets: text, title, headings, lines above.

    Parameters
    ----------
    extractor : fingerprint of the extractor
    chunk : the chunk

    Returns
    -------
    str
        The hash.
    """
    return checksum(extractor, chunk.text, *chunk.surroundings)


class Extractor(Protocol):
    """Finds propositions, topics, mentions and triples in chunks.

    A subclass inherits ``problems`` and ``input_fingerprint`` for an extractor that reads the chunk only.
    """

    @property
    def fingerprint(self) -> str:
        """Name, version and everything else that affects the result; a new fingerprint triggers a new extraction."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems in the extractor's own input, such as record files; reported once per ingest."""
        return ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order. Never raises because of a chunk's content: see ``Extraction.problem``."""

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of everything that this extractor reads for this chunk (text and context, and records in files)."""
        return shown_fingerprint(self.fingerprint, chunk)


def advancing(extractions: Iterable[Extraction]) -> Iterator[Extraction]:
    """The extractions, each reported as progress."""
    for extraction in extractions:
        yield extraction
        progress.advance("extract")


class Metered:
    """An extractor whose calls cost money."""

    usage: Usage


# Search in the text of a chunk: exact, ignoring case and white space, or by shared words.


def spelled(text: str) -> str:
    """The words of a text with a space around each, so that ``in`` finds whole words only.

    Examples
    --------
    >>> spelled("Ada Lovelace's") in spelled("It was Ada LOVELACE.")
    True
    """
    return f" {' '.join(words(text))} "


class ChunkText:
    """The text of a chunk, prepared for search. Expensive parts are computed at first use."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def spelled(self) -> str:
        """The words of the chunk, in the form of :func:`spelled`."""
        return spelled(self.text)

    @cached_property
    def _content(self) -> frozenset[str]:
        return frozenset(content_words(self.text))

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The chunk in lower case with single spaces, and the offset in the chunk of each character."""
        characters: list[str] = []
        offsets: list[int] = []
        for offset, character in enumerate(self.text):
            folded = " " if character.isspace() else character.lower()
            if len(folded) != 1:
                folded = character
            if folded != " " or (characters and characters[-1] != " "):
                characters.append(folded)
                offsets.append(offset)
        return "".join(characters), offsets

    @cached_property
    def _sentences(self) -> list[tuple[tuple[int, int], str]]:
        return [((start, end), spelled(self.text[start:end])) for start, end in sentences(self.text)]

    @cached_property
    def _sentence_words(self) -> list[tuple[tuple[int, int], frozenset[str]]]:
        return [((start, end), frozenset(content_words(self.text[start:end]))) for start, end in sentences(self.text)]

    def find(self, phrase: str) -> tuple[int, int] | None:
        """The span of a phrase: exact, else ignoring case and white space; None if the chunk does not contain it."""
        phrase = phrase.strip()
        start = self.text.find(phrase)
        if start >= 0:
            return start, start + len(phrase)
        folded, offsets = self._folded
        needle = ChunkText(phrase)._folded[0]
        start = folded.find(needle) if needle else -1
        return (offsets[start], offsets[start + len(needle) - 1] + 1) if start >= 0 else None

    def share(self, phrase: str) -> float:
        """Fraction of the content words of a phrase that occur in the chunk, from 0 to 1."""
        wanted = set(content_words(phrase)) or set(words(phrase))
        return len(wanted & self._content) / len(wanted) if wanted else 0.0

    def closest(self, phrase: str) -> tuple[int, int] | None:
        """Span of the first sentence with the most content words of a phrase; None if it has less than half of them."""
        wanted = frozenset(content_words(phrase))
        best, most = None, 0
        for span, present in self._sentence_words:
            shared = len(wanted & present)
            if shared > most:
                best, most = span, shared
        return best if 2 * most >= len(wanted) else None

    def sentence_with(self, *names: str) -> tuple[int, int] | None:
        """Span of the first sentence that contains all of these names; None if there is none."""
        wanted = [spelled(name) for name in names]
        return next((span for span, written in self._sentences if all(name in written for name in wanted)), None)

    def as_written(self, mention: Mention) -> Mention:
        """The mention in the chunk's own spelling if its record has it in lower case, else unchanged."""
        name = mention.name
        if name != name.lower():
            return mention
        folded, offsets = self._folded
        start = folded.find(name)
        while start >= 0:
            end = start + len(name)
            if not (folded[start - 1 : start].isalnum() or folded[end : end + 1].isalnum()):
                written = " ".join(self.text[offsets[start] : offsets[end - 1] + 1].split())
                return Mention(written, mention.kind)
            start = folded.find(name, end)
        return mention


# A sample of the chunks of a corpus, from which its domain is inferred.


SAMPLES = 5
"""Number of chunks that a domain is inferred from (HLG, section 6.2, step 2)."""
_Item = TypeVar("_Item")


class Sampler(Generic[_Item]):
    """Keeps the five chunks whose texts have the smallest hashes, in O(1) memory.

    The sample is pseudo-random, does not depend on the order of the chunks, and holds no text twice.

    Examples
    --------
    >>> sampler = Sampler[int]()
    >>> for number in [*range(100), *range(100)]:
    ...     sampler.add(f"Text {number}.", ("", number), item=number)
    >>> len(sampler.chosen()), len(set(sampler.chosen()))
    (5, 5)
    """

    def __init__(self) -> None:
        self._sample: dict[str, tuple[tuple[str, int], _Item]] = {}

    def add(self, text: str, place: tuple[str, int], *, item: _Item) -> None:
        """Add a chunk to the candidates. Of chunks with equal texts, the one with the smallest place counts.

        Parameters
        ----------
        text : text of the chunk; blank texts are ignored
        place : source id and position of the chunk
        item : what :meth:`chosen` returns for the chunk
        """
        if not text.strip():
            return
        key = checksum(text)
        known = self._sample.get(key)
        if known is None or place < known[0]:
            self._sample[key] = place, item
        if len(self._sample) > SAMPLES:
            del self._sample[max(self._sample)]

    def chosen(self) -> list[_Item]:
        """The items of the sample, in the order of the hashes of their texts."""
        return [self._sample[key][1] for key in sorted(self._sample)]


def sampled(items: Iterable[Document | ReadFailure], chunker: Chunker, *, corpus: str) -> list[ChunkInput]:
    """A sample of the chunks of documents, see :class:`Sampler`; documents that cannot be ingested are skipped.

    Each document is read and chunked once, and only the sample is held in memory. Takes time linear in the text.

    Parameters
    ----------
    items : documents and read failures; of documents with equal uris the first counts
    chunker : splits the documents
    corpus : the corpus, part of the source ids

    Returns
    -------
    list
        At most five chunks.
    """
    sampler, seen = Sampler[ChunkInput](), set[str]()
    for document in items:
        if isinstance(document, ReadFailure) or document.uri in seen or inadmissible(document) is not None:
            continue
        seen.add(document.uri)
        source = source_id(corpus, document.uri)
        for position, span in enumerate(chunker.chunk(document)):
            text = document.text[span.start : span.end]
            chunk = ChunkInput(text, document.title, span.headings, document.uri, position=position, above=span.above)
            sampler.add(text, (source, position), item=chunk)
    return sampler.chosen()


# Rows of tables, whose statements are the rows themselves.


class RowExtractor(Extractor):
    """Reads the facts from the lines of a row's text; needs no model.

    The statement is the whole row, ``Part: Part 150; Mass: 450 kg``. It mentions the entity of the row and those that its
    references name. Each column but the name is a fact of the entity.

    Parameters
    ----------
    mapping : the mapping of the table

    Examples
    --------
    >>> from hlgraph.read.table_mapping import TableColumn
    >>> mapping = TableMapping(name="Part", columns={"Maker": TableColumn(type="reference", predicate="made by")})
    >>> chunk = ChunkInput("Part: Part 150\\nMaker: Acme", title="Part 150")
    >>> proposition = RowExtractor(mapping).extract([chunk])[0].propositions[0]
    >>> proposition.text, [(triple.predicate, triple.object) for triple in proposition.triples]
    ('Part: Part 150; Maker: Acme', [('made by', 'Acme')])
    """

    def __init__(self, mapping: TableMapping) -> None:
        self._mapping = mapping

    @property
    def fingerprint(self) -> str:
        """Version of the rules, and hash of the mapping."""
        return f"rows/1:{self._mapping.fingerprint}"

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order, in time linear in the length of the texts."""
        return list(advancing(map(self._extraction, chunks)))

    def _extraction(self, chunk: ChunkInput) -> Extraction:
        mapping = self._mapping
        mentions = {chunk.title: Mention(chunk.title, mapping.kind)}
        triples: list[Triple] = []
        for name, column, value in map(mapping.split, chunk.text.split("\n")):
            if name in ("", mapping.name):
                continue
            is_literal = column.type != "reference"
            if not is_literal:
                mentions.setdefault(value, Mention(value, column.kind))
            predicate = column.predicate or mapping.label(name)
            triples.append(Triple(chunk.title, predicate, value, is_literal=is_literal))
        statement = Proposition(
            text="; ".join(chunk.text.split("\n")),
            start=0,
            end=len(chunk.text),
            mentions=tuple(mentions.values()),
            triples=tuple(triples),
        )
        return Extraction((statement,))
