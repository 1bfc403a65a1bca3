"""The extractor with a pipeline of spaCy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hlgraph import progress
from hlgraph.extract.local import Found, LocalExtractor, Reading, read_chunk
from hlgraph.extract.seam import ChunkInput
from hlgraph.extract.spacy._labels import merged_mentions, voted_kinds
from hlgraph.extract.spacy._parse import parsed_triples
from hlgraph.extract.spacy.spacy_model import DEFAULT_MODEL, load_pipeline
from hlgraph.ids import checksum, normalise_name
from hlgraph.records import Extraction, Triple
from hlgraph.text import BlockKind

if TYPE_CHECKING:
    from spacy.tokens import Doc

_VERSION = "spacy/1"
_BATCH = 128
_LONGEST_TEXT = 5_000
_PARSED = frozenset((BlockKind.PROSE, BlockKind.ITEM))


class SpacyExtractor:
    """An extractor that adds what a pipeline of spaCy finds to the statements, topics and facts of the local rules.

    Its labels give kinds to the names that the rules found, and names that the rules missed. Its parse gives facts: subject
    and object of verbs, passives, complements, prepositions, appositions, conjunctions and relative clauses. Of two facts
    with one subject and one object in a sentence, that of the parse is kept. A pipeline without a parser, or with other
    labels than those of English, adds names and kinds only.

    Parameters
    ----------
    model : name of an installed model of spaCy, or path of a folder

    Raises
    ------
    MissingExtraError
        spaCy, or the default model, is not installed.
    ModelMissingError
        Another model is not installed.
    """

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self._pipeline = load_pipeline(model)
        self._fingerprint = f"{_VERSION}/{self._pipeline.name}+{LocalExtractor().fingerprint}"
        self._alone = threading.Lock()  # a pipeline adds words to its vocabulary

    @property
    def fingerprint(self) -> str:
        """Name and version of the rules, of the model and of spaCy."""
        return self._fingerprint

    @property
    def problems(self) -> tuple[str, ...]:
        """Always empty, since no files are read."""
        return ()

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order; sentences are parsed in batches."""
        readings = [read_chunk(chunk) for chunk in chunks]
        places = [
            (row, column)
            for row, reading in enumerate(readings)
            for column, unit in enumerate(reading.units)
            if unit.kind in _PARSED and len(unit.text) <= _LONGEST_TEXT
        ]
        language = self._pipeline.language
        parsed = 0
        with self._alone, language.memory_zone():
            texts = (readings[row].units[column].text for row, column in places)
            docs = {}
            for place, doc in zip(places, language.pipe(texts, batch_size=_BATCH), strict=True):
                docs[place] = doc
                if place[0] > parsed:
                    progress.advance("extract", place[0] - parsed)
                    parsed = place[0]
            return [
                self._extraction(
                    reading,
                    {column: docs[row, column] for column in range(len(reading.units)) if (row, column) in docs},
                )
                for row, reading in enumerate(readings)
            ]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """Hash of everything that is read: the versions, the text, the title and the headings."""
        return checksum(self._fingerprint, chunk.text, chunk.title, *chunk.headings)

    def _extraction(self, reading: Reading, docs: dict[int, Doc]) -> Extraction:
        mentions: list[Sequence[Found]] = list(reading.mentions)
        triples: list[Sequence[Triple]] = list(reading.triples())
        for column, doc in docs.items():
            mentions[column] = merged_mentions(doc, reading.mentions[column])
            if self._pipeline.has_parse:
                parsed = parsed_triples(doc, mentions[column], reading.title)
                triples[column] = _joined(parsed, triples[column])
        kinds = voted_kinds((doc, mentions[column]) for column, doc in docs.items())
        return reading.extraction(triples, mentions=mentions, kinds=kinds)


def _joined(first: Sequence[Triple], more: Sequence[Triple]) -> list[Triple]:
    """Both lists, without those of ``more`` that have the subject and the object of one of ``first``."""
    known = {(normalise_name(triple.subject), normalise_name(triple.object)) for triple in first}
    return [
        *first,
        *(triple for triple in more if (normalise_name(triple.subject), normalise_name(triple.object)) not in known),
    ]
