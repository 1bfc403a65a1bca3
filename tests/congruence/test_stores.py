"""The embedded store and the servers hold the same graph after the same history, and give the same evidence.

The servers answer by themselves (`neo4j.ranking: server`), and by the image of the corpus.

Ids and their order are equal. Scores are compared with a relative tolerance of 1e-6: cosines come from the same float32
bytes, but BLAS and the server sum the products of one row in another order.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hierarchies import with_hierarchy
from live_stores import neo4j_of, opened
from thoroughness import IS_THOROUGH, cases

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import UnknownNameError
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import Remover, delete_sources
from hlgraph.ingest.report import Report
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Document, Kind, MetadataValue, Relationship
from hlgraph.retrieve import STRATEGIES, SearchRequest, search
from hlgraph.retrieve.request import CommunityEvidence
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.strategies.diameter import DiameterRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.path import PathRetriever
from hlgraph.retrieve.strategies.statement_graph import StatementGraphRetriever
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.doctor import check
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.open import open_graph, open_stores
from hlgraph.stores.protocols import MatchQuery, PullShape, Scope, Stores
from hlgraph.subgraph import Subgraph
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import And, Compare, Exists, In, Not, Op, Or, Where

_EMBEDDER = WordEmbedder(48)
_NAMES = ("Mara Quill", "Ivo Brandt", "Tessing", "Orne", "Aldane Bridge", "Gannow Light", "Emeric Vaude", "Loom Street")
_VERBS = ("designed", "visited", "was born in", "left", "wrote about", "repaired")
_WORDS = [
    "river",
    "canal",
    "steel",
    "wooden",
    "tower",
    "keeper",
    "flood",
    "harvest",
    "letter",
    "winter",
    "council",
    "market",
    "glass",
    "stone",
]
_CORPORA = cases(1, 3)
_REQUESTS = cases(6, 34)  # of a strategy, in each corpus
_PULLS = cases(16, 34)  # in each corpus
_OTHERS: dict[str, tuple[Retriever, ...]] = {  # these in turn, in place of the strategy with its defaults
    "global": (GlobalRetriever(anchors=60),),  # 200 anchors are most of what a filter leaves of these corpora
    "statement_graph": (StatementGraphRetriever(), StatementGraphRetriever(beams="shared")),
    "diameter": (DiameterRetriever(), DiameterRetriever(chunks=0, has_co_occurrence=False, starts=3)),
    "path": (PathRetriever(), PathRetriever(stages="second", rescored=0)),
}


class Pair(NamedTuple):
    """The same corpus in both."""

    embedded: Stores
    servers: Stores


class Ways(NamedTuple):
    """The same corpus, and the ways to walk it."""

    embedded: Stores
    image: Stores
    server: Stores


def _text(rng: random.Random) -> str:
    sentences = []
    for _ in range(rng.randint(2, 14)):
        tail = " ".join(rng.choices(_WORDS, k=rng.randint(2, 9)))
        sentences.append(
            f"{rng.choice(_NAMES)} {rng.choice(_VERBS)} {rng.choice(_NAMES)} with the {tail} in {rng.randint(1890, 1899)}."
        )
    return ("# " + rng.choice(_WORDS).title() + "\n\n" if rng.random() < 0.5 else "") + " ".join(sentences)


def _metadata(rng: random.Random) -> dict[str, MetadataValue]:
    found: dict[str, MetadataValue] = {}
    if rng.random() < 0.8:
        found["year"] = rng.choice([1, 2, 3, 2.0, 2.5])
    if rng.random() < 0.6:
        found["tags"] = tuple(rng.sample(["a", "b", "c"], rng.randint(0, 3)))
    if rng.random() < 0.5:
        found["open"] = rng.random() < 0.5
    return found


def _documents(rng: random.Random, count: int) -> list[Document]:
    return [Document(f"doc:{at}", _text(rng), f"Title {at % 7}", _metadata(rng)) for at in range(count)]


def _filter(rng: random.Random, depth: int = 2) -> Where:
    kind = rng.random()
    if depth and kind < 0.35:
        parts = (_filter(rng, depth - 1), _filter(rng, depth - 1))
        return And(parts) if rng.random() < 0.5 else Or(parts)
    if depth and kind < 0.45:
        return Not(_filter(rng, depth - 1))
    return rng.choice(
        [
            Compare("year", rng.choice(list(Op)), rng.choice([1, 2, 2.5])),
            In("tags", tuple(rng.sample(["a", "b", "c", "z"], 2))),
            Compare("open", Op.EQ, rng.random() < 0.5),
            Exists(rng.choice(["year", "open", "tags"])),
            In("title", tuple(f"Title {rng.randint(0, 7)}" for _ in range(3))),
            Compare("uri", Op.NE, f"doc:{rng.randint(0, 20)}"),
        ]
    )


# One filter or more of every kind, operator and type of value, and the compositions: what the dozen requests ask within.
_DOZEN = (
    None,
    Compare("year", Op.EQ, 2),
    Compare("year", Op.NE, 2.5),
    And((Compare("year", Op.GE, 1), Compare("year", Op.LT, 3))),
    Or((Compare("year", Op.GT, 2), Compare("year", Op.LE, 1))),
    In("tags", ("a", "z")),
    Compare("open", Op.EQ, True),
    Or((Compare("open", Op.EQ, False), Not(Exists("open")))),
    Exists("tags"),
    In("title", ("Title 1", "Title 3", "Title 6")),
    And((Compare("uri", Op.NE, "doc:4"), Not(In("tags", ("b", "c"))))),
    Not(And((Exists("year"), Compare("title", Op.EQ, "Title 2")))),
)


def _where(at: int, strategy: str, rng: random.Random) -> Where | None:
    """The filter of a request: every second one of the dozen, by strategy; in a thorough run random ones after the first.

    A filter is a new statement for the server, and to plan one takes longer than to run it.
    """
    if IS_THOROUGH:
        return _filter(rng) if at else None
    return _DOZEN[(2 * at + len(strategy) % 2) % len(_DOZEN)]


def _steps() -> pipeline.Steps:
    return pipeline.Steps(ContentDefinedChunker(60, 0.2), LocalExtractor(), _EMBEDDER, batch_sources=20)


@pytest.fixture(scope="module")
def pair(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("congruence")
    embedded = open_stores(f"hlgraph://{folder}/store")
    with embedded.closing, opened(servers) as live:
        yield Pair(embedded.stores, live.stores)
        wrong = [item for item in live.check() if not item.is_fine]
    assert not wrong


@pytest.fixture(scope="module")
def ways(pair: Pair, servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    """The stores of the pair, and its servers without images."""
    found = [
        open_stores(
            Settings(
                store=servers.neo4j.url,
                vectors=f"hlgraph://{tmp_path_factory.mktemp('unused')}",
                neo4j=neo4j_of(servers, ranking=ranking),
            )
        )
        for ranking in ("process", "server")
    ]
    with found[0].closing, found[1].closing:
        yield Ways(pair.embedded, *(each.stores._replace(vectors=pair.servers.vectors) for each in found))


@pytest.fixture(scope="module", params=range(_CORPORA))
def corpus(request: pytest.FixtureRequest, pair: Pair) -> str:
    """A corpus that is the same in both, and its name."""
    name = f"c{request.param}"
    documents = _documents(random.Random(request.param), 60)
    for stores in pair:
        pipeline.ingest(documents, name, stores=stores, steps=_steps())
    built = [with_hierarchy(stores, name, embedder=_EMBEDDER)[0] for stores in pair]
    assert built[0].communities == built[1].communities
    assert built[0].run.stamp == built[1].run.stamp
    return name


def test_both_hold_the_same_after_every_step_of_a_history(pair: Pair) -> None:
    rng = random.Random(11)
    documents = _documents(rng, 14)
    reports: list[Report] = []
    forgotten: list[list[str]] = [[], []]
    for step in range(cases(4, 8)):
        if step:
            for at in rng.sample(range(len(documents)), 4):
                old = documents[at]
                text = (
                    old.text
                    if rng.random() < 0.3
                    else _text(rng)
                    if rng.random() < 0.5
                    else old.text + " " + _text(rng)
                )
                documents[at] = Document(old.uri, text, old.title, _metadata(rng))
        gone = (
            [source_id("walk", documents[at].uri) for at in rng.sample(range(len(documents)), 2)]
            if step % 3 == 2
            else []
        )
        for stores, texts in zip(pair, forgotten, strict=True):
            reports.append(pipeline.ingest(documents, "walk", stores=stores, steps=_steps()))
            if gone:
                reports.append(
                    delete_sources(gone, "walk", stores=stores, remover=Remover(stores, forget=texts.extend))
                )
        one, two = (snapshot(stores, "walk") for stores in pair)
        for name in one:
            assert one[name] == two[name], f"step {step}: {name}"
        stats = [stores.graph.stats("walk")[0] for stores in pair]
        assert stats[0].records == stats[1].records
        assert stats[0].relationships == stats[1].relationships
        assert stats[0].fields == stats[1].fields
    half = len(reports) // 2
    assert half
    assert sorted(forgotten[0]) == sorted(forgotten[1]) != []
    for stores in pair:
        everything = [record.id for record in stores.graph.find(Kind.SOURCE, Scope("walk"))]
        delete_sources(everything, "walk", stores=stores)
        assert not any(snapshot(stores, "walk").values())


@pytest.mark.parametrize("strategy", sorted({*STRATEGIES, *_OTHERS}))
def test_filters_give_the_same_evidence(ways: Ways, corpus: str, strategy: str) -> None:
    rng = random.Random(f"{corpus}{strategy}")
    fields = set(ways.embedded.graph.stats(corpus)[0].fields)
    retrievers = _OTHERS.get(strategy, (strategy,))
    found_some = 0
    for at in range(_REQUESTS):
        where = _where(at, strategy, rng)
        assert where is None or fields >= {"year", "tags", "open"}
        question = f"Who {rng.choice(_VERBS)} {rng.choice(_NAMES)} with the {rng.choice(_WORDS)}?"
        mode = ("vector", "text", "hybrid")[(at + len(strategy)) % 3]
        request = SearchRequest(question, corpus, 8, None, mode, where, communities=strategy == "global")
        chosen = retrievers[at % len(retrievers)]
        results = [
            search(request, chosen, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
            for stores in (ways.embedded, ways.server if at % 2 else ways.image)
        ]
        one, two = (result.evidence for result in results)
        assert [_whole(item) for item in results[0].communities] == [_whole(item) for item in results[1].communities]
        ids = [[item.statement_id or item.chunk_id for item in evidence] for evidence in (one, two)]
        assert ids[0] == ids[1], f"{request}"
        # `local` takes the statements around its pool by a bounded walk in process and by the exact one of the server: a few
        # far ones differ, and with them, a little, the shares of all.
        near = 1e-3 if strategy == "local" else 1e-6
        assert [item.score for item in two] == pytest.approx([item.score for item in one], rel=near, abs=near / 10)
        assert [(item.text, item.start, item.end, item.source.id) for item in one] == [
            (item.text, item.start, item.end, item.source.id) for item in two
        ]
        found_some += bool(one)
    assert found_some > _REQUESTS / 2


def _whole(item: CommunityEvidence) -> tuple[object, ...]:
    """What a report reads of a community."""
    said = [piece.statement_id for piece in item.statements]
    return item.number, item.size, item.anchors, item.entities, said, [piece.chunk_id for piece in item.passages]


def _edges(graph: Subgraph) -> dict[Relationship, set[tuple[str, str, float]]]:
    found: dict[Relationship, set[tuple[str, str, float]]] = {}
    for relationship, matrix in graph.edges.items():
        edges = matrix.tocoo()
        rows = set()
        for a, b, weight in zip(edges.row, edges.col, edges.data, strict=True):
            ends = (str(graph.ids[a]), str(graph.ids[b]))
            is_directed = relationship not in (Relationship.CO_OCCURS, Relationship.SYNONYM)
            rows.add((*(ends if is_directed else (min(ends), max(ends))), round(float(weight), 4)))
        found[relationship] = rows
    return found


_STORED = (Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT, Kind.FACT, Kind.ENTITY, Kind.SOURCE)


def _everything(ways: Ways, corpus: str) -> list[str]:
    return [record.id for kind in _STORED for record in ways.embedded.graph.find(kind, Scope(corpus))]


def _same_pull(ways: Ways, seeds: list[str], shape: PullShape, scope: Scope) -> Subgraph:
    one, *others = (stores.graph.pull(seeds, shape, scope=scope) for stores in ways)
    for two in others:
        assert one.ids.tolist() == two.ids.tolist(), f"{seeds} {shape} {scope}"
        assert one.kinds.tolist() == two.kinds.tolist()
        assert one.is_cut == two.is_cut
        assert _edges(one) == _edges(two), f"{seeds} {shape} {scope}"
    return one


def test_pulls_give_the_same_subgraph(ways: Ways, corpus: str) -> None:
    rng = random.Random(f"pull{corpus}")
    everything = _everything(ways, corpus)
    sizes = set()
    followed = [item for item in Relationship if item.value not in ("similar", "member_of", "part_of", "summarises")]
    for number in range(_PULLS):
        shape = PullShape(
            frozenset(rng.sample(followed, rng.randint(1, 5))),
            frozenset(rng.sample(_STORED, rng.randint(2, 6))),
            hops=number % 5,
            fan_out=rng.choice([2, 5, 100]),
            node_cap=rng.choice([15, 10_000]),
        )
        scope = Scope(corpus, _filter(rng) if rng.random() < 0.6 else None)
        sizes.add(len(_same_pull(ways, rng.sample(everything, rng.randint(1, 6)), shape, scope)))
    assert len(sizes) > 6


def test_matches_give_the_same_counts(ways: Ways, corpus: str) -> None:
    rng = random.Random(f"match{corpus}")
    entities = [record.id for record in ways.embedded.graph.find(Kind.ENTITY, Scope(corpus))]
    statements = [record.id for record in ways.embedded.graph.find(Kind.STATEMENT, Scope(corpus))]
    highest = set()
    for number in range(_PULLS):
        names = tuple(tuple(rng.sample(entities, rng.randint(1, 3))) for _ in range(rng.randint(1, 5)))
        among = tuple(rng.sample(statements, 40)) if number % 3 == 0 else None
        query = MatchQuery((*names, ("nothing",)), rng.choice([1, 10, 1_000]), rng.choice([2, 1_000]), among)
        scope = Scope(corpus, _filter(rng) if rng.random() < 0.5 else None)
        one, *others = (stores.graph.match(query, scope=scope) for stores in ways)
        assert others == [one, one], f"{query} {scope}"
        highest.add(one[0].count if one else 0)
    assert len(highest) > 2


@pytest.mark.parametrize("has_topics", [False, True])
def test_the_pulls_of_beams_give_the_same_subgraph(ways: Ways, corpus: str, has_topics: bool) -> None:
    """They are one query for two hops on the server (``retrieve/pull_mentions``)."""
    rng = random.Random(f"beam{corpus}")
    everything = _everything(ways, corpus)
    relationships = {Relationship.MENTIONS, *([Relationship.ABOUT] if has_topics else [])}
    kinds = {Kind.STATEMENT, Kind.ENTITY, *([Kind.TOPIC] if has_topics else [])}
    sizes = set()
    for number in range(48):
        shape = PullShape(
            frozenset(relationships),
            frozenset(kinds),
            hops=number % 6,
            fan_out=rng.choice([1, 2, 5, 100]),
            node_cap=rng.choice([2, 15, 10_000]),
        )
        scope = Scope(corpus, _filter(rng) if rng.random() < 0.5 else None)
        seeds = [*rng.sample(everything, rng.randint(1, 6)), "nothing"]
        sizes.add(len(_same_pull(ways, seeds, shape, scope)))
    assert len(sizes) > 8


_CO_OCCURS = (
    "MATCH (a:Entity {corpus: $corpus})-[r:CO_OCCURS]->(b) RETURN a.id AS a, b.id AS b, toFloat(r.chunks) AS chunks"
)


def test_co_occurs_is_stored_on_request_as_it_is_counted(ways: Ways, corpus: str, servers: Any) -> None:
    settings = Settings(store=servers.neo4j.url, vectors="hlgraph://unused", neo4j=neo4j_of(servers))
    server = Server(servers.neo4j.url, settings.neo4j)

    def stored() -> set[tuple[str, str, float]]:
        with server.driver().session(database=settings.neo4j.database) as session:
            return {(row["a"], row["b"], row["chunks"]) for row in session.run(_CO_OCCURS, corpus=corpus)}

    def state() -> tuple[int | None, list[str]]:
        (stats,) = ways.server.graph.stats(corpus, has_counts=False)
        return stats.co_occurs, [seen for name, _, seen in check(server) if name == "stored CO_OCCURS"]

    entities = [record.id for record in ways.embedded.graph.find(Kind.ENTITY, Scope(corpus))]
    shape = PullShape(frozenset({Relationship.CO_OCCURS}), frozenset({Kind.ENTITY}), hops=0, node_cap=10_000)
    counted = _edges(ways.embedded.graph.pull(entities, shape, scope=Scope(corpus)))[Relationship.CO_OCCURS]
    with contextlib.closing(server), open_graph(settings) as graph:
        assert state() == (None, [])
        for _ in range(2):  # the second time in place of the first
            assert graph.write_co_occurs(corpus) == len(counted)
        assert stored() == counted
        version = ways.server.graph.stats(corpus, has_counts=False)[0].version
        assert state() == (version, ["up to date"])
        server.write(lambda transaction: transaction.rows("index/mark_co_occurrences", corpus=corpus, version=1))
        assert state() == (1, [f"outdated for {corpus}; run: hlgraph materialise co_occurs"])
        assert graph.drop_co_occurs(corpus) == len(counted)
        assert (stored(), state()) == (set(), (None, []))
        with pytest.raises(UnknownNameError, match="no corpus 'none'"):
            graph.write_co_occurs("none")
