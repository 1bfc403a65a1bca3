"""An extractor for rows of tables that a mapping describes: one statement per row, its entity and its facts."""

from __future__ import annotations

from collections.abc import Sequence

from hlgraph import progress
from hlgraph.extract.extractor import ChunkInput, Extractor
from hlgraph.read.table_mapping import TableMapping
from hlgraph.records import Extraction, Mention, Proposition, Triple


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
        extractions: list[Extraction] = []
        for chunk in chunks:
            extractions.append(self._extraction(chunk))
            progress.advance("extract")
        return extractions

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
