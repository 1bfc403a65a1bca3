"""Corpora on the Neo4j server of the tests, each under a name of its own, beside whatever else is there.

Beside the tiny corpus there is one about a mill, worked by hand, that has what analysts look for: contradictions, copies,
orphans, dates, communities.

::

    Gazette (1901-05-02)  "The Orle Mill was built by Hanna Voss. The Orle Mill has six sails."
    Guide   (1925-03-10)  "The Orle Mill was built by Piet Marn. The Orle  Mill has six sails!"
    Papers  (1925-03-10)  "Hanna Voss lived in Lund. The Orle Mill was built by Hanna Voss."
    Notice  (no date)     "The fair is held in May."
    Poster  (no date)     the text of Notice
    Horse   (no date)     "Sorrel is a horse."          one entity, no fact
    Blank   (no date)     "Page left empty."            a topic, no statement

Statements about the mill have the topic Mill, others the title of their source. Hanna Voss and the mill are in a community of
level 0, which is part of one of level 1; Lund is called a synonym of Sorrel.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from extractors import RuleExtractor
from live_stores import neo4j_of

from hlgraph.chunk import WholeChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import entity_id, source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document, Extraction, Mention, Proposition, Triple
from hlgraph.settings import Settings
from hlgraph.stores import migrate
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import Opened, open_stores
from hlgraph.testing.corpus import DOCUMENTS, fill
from hlgraph.testing.embedder import WordEmbedder

TEXTS = {
    "Gazette": "The Orle Mill was built by Hanna Voss. The Orle Mill has six sails.",
    "Guide": "The Orle Mill was built by Piet Marn. The Orle  Mill has six sails!",
    "Papers": "Hanna Voss lived in Lund. The Orle Mill was built by Hanna Voss.",
    "Notice": "The fair is held in May.",
    "Poster": "The fair is held in May.",
    "Horse": "Sorrel is a horse.",
    "Blank": "Page left empty.",
}
_DATES = {"Gazette": "1901-05-02", "Guide": "1925-03-10", "Papers": "1925-03-10"}
_NAMES = ("Orle Mill", "Hanna Voss", "Piet Marn", "Lund", "Sorrel")
_TRIPLES = {
    "The Orle Mill was built by Hanna Voss.": Triple("Orle Mill", "built by", "Hanna Voss"),
    "The Orle Mill was built by Piet Marn.": Triple("Orle Mill", "built by", "Piet Marn"),
    "The Orle Mill has six sails.": Triple("Orle Mill", "has", "six sails", is_literal=True),
    "Hanna Voss lived in Lund.": Triple("Hanna Voss", "lived in", "Lund"),
}


def _extraction(chunk: ChunkInput) -> Extraction:
    """Sentences as propositions, the known names in them as mentions, the known triples."""
    if chunk.title == "Blank":
        return Extraction((), ("Blank",))
    propositions = []
    for match in re.finditer(r"[A-Z].*?[.!]", chunk.text):
        plain = match[0].replace("!", ".").replace("  ", " ")
        names = tuple(Mention(name, "name") for name in _NAMES if name in plain)
        topic = "Mill" if "Orle Mill" in plain else chunk.title
        triples = (_TRIPLES[plain],) if plain in _TRIPLES else ()
        propositions.append(Proposition(match[0], *match.span(), (topic,), names, triples))
    return Extraction(
        tuple(propositions), tuple(dict.fromkeys(topic for item in propositions for topic in item.topics))
    )


_DERIVED = """
MATCH (mill:Entity {id: $mill})
CALL () { MATCH (e:Entity {id: $voss}) RETURN e AS voss }
CALL () { MATCH (e:Entity {id: $lund}) RETURN e AS lund }
CALL () { MATCH (e:Entity {id: $sorrel}) RETURN e AS sorrel }
CREATE (inner:Community {id: $corpus + '-0', corpus: $corpus, level: 0, size: 2}),
  (outer:Community {id: $corpus + '-1', corpus: $corpus, level: 1, size: 2}),
  (inner)-[:PART_OF]->(outer), (mill)-[:MEMBER_OF {level: 0}]->(inner), (voss)-[:MEMBER_OF {level: 0}]->(inner),
  (mill)-[:MEMBER_OF {level: 1}]->(outer), (voss)-[:MEMBER_OF {level: 1}]->(outer),
  (lund)-[:SYNONYM {similarity: 0.875}]->(sorrel)
"""


class TinyGraph(NamedTuple):
    """A server whose database holds the tiny corpus, and the name of the corpus."""

    server: Server
    corpus: str


class MillGraph(NamedTuple):
    """The open stores with the corpus about the mill, the settings that lead to them, and the server beside them."""

    opened: Opened
    settings: Settings
    server: Server

    @property
    def corpus(self) -> str:
        """The name of the corpus."""
        return self.settings.corpus


@contextlib.contextmanager
def _graph(servers: Any, folder: Path, name: str, documents: Sequence[Document]) -> Iterator[MillGraph]:
    """A corpus to fill with documents, which are deleted at the end. ``folder`` is for its vectors."""
    corpus = f"{name}-{uuid.uuid4().hex[:8]}"
    vectors = f"hlgraph://{folder}/vectors"
    settings = Settings(store=servers.neo4j.url, vectors=vectors, corpus=corpus, neo4j=neo4j_of(servers))
    opened, server = open_stores(settings), Server(settings.store, settings.neo4j)
    with opened.closing, contextlib.closing(server):
        migrate.apply(Neo4jTarget(server))
        try:
            yield MillGraph(opened, settings, server)
        finally:
            delete_sources([source_id(corpus, item.uri) for item in documents], corpus, stores=opened.stores)


@contextlib.contextmanager
def tiny_graph(servers: Any, folder: Path) -> Iterator[TinyGraph]:
    """The schema and the tiny corpus."""
    with _graph(servers, folder, "tiny", DOCUMENTS) as graph:
        fill(graph.opened.stores, corpus=graph.corpus)
        yield TinyGraph(graph.server, graph.corpus)


@contextlib.contextmanager
def mill_graph(servers: Any, folder: Path, *, titles: Collection[str] = tuple(TEXTS)) -> Iterator[MillGraph]:
    """The schema and the corpus about the mill, or only the sources of these titles."""
    documents = [
        Document(f"doc:{title}", text, title, {"date": _DATES[title]} if title in _DATES else {})
        for title, text in TEXTS.items()
        if title in titles
    ]
    with _graph(servers, folder, "mill", documents) as graph:
        steps = pipeline.Steps(WholeChunker(), RuleExtractor(_extraction), WordEmbedder())
        assert not pipeline.ingest(documents, graph.corpus, stores=graph.opened.stores, steps=steps).failed
        names = {"mill": "Orle Mill", "voss": "Hanna Voss", "lund": "Lund", "sorrel": "Sorrel"}
        ids = {key: entity_id(graph.corpus, name) for key, name in names.items()}
        ask = partial(graph.server.driver().execute_query, database_=graph.settings.neo4j.database)
        ask(_DERIVED, {"corpus": graph.corpus, **ids})
        try:
            yield graph
        finally:
            ask("MATCH (c:Community {corpus: $corpus}) DETACH DELETE c", {"corpus": graph.corpus})
