"""An explanation of a search on both servers: what went over the wire, and Cypher that gives the same rows when pasted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import neo4j
import pytest
from hierarchies import with_hierarchy
from live_stores import neo4j_of, opened, settings_for
from neo4j_graphs import tiny_graph
from opensearch_fixture import settings_of

from hlgraph.chunk import WholeChunker
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.ingest import pipeline
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.persist.assemble import removal
from hlgraph.persist.journal import persist
from hlgraph.records import Kind, Source
from hlgraph.retrieve import SearchRequest, SearchResult, search
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.search import retriever
from hlgraph.retrieve.strategies import STRATEGIES
from hlgraph.stores import trace
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.stores.trace import Call
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import parse

_EMBEDDER = WordEmbedder()
_PARAMETER = re.compile(r":param (\w+|`[^`]+`) => (.*)")


@pytest.fixture(scope="module")
def stores(servers: Any) -> Iterator[Stores]:
    with opened(servers) as found:
        steps = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
        pipeline.ingest(DOCUMENTS, CORPUS, stores=found.stores, steps=steps)
        yield found.stores


@pytest.fixture(scope="module")
def hierarchy(stores: Stores) -> None:
    """Summaries of the communities of the corpus."""
    with_hierarchy(stores, CORPUS, embedder=_EMBEDDER, query=HierarchyQuery(long_source=10))


@pytest.fixture(scope="module")
def without_image(servers: Any, stores: Stores) -> Iterator[Stores]:
    """The same corpus, walked by the server."""
    settings = replace(settings_for(servers), neo4j=neo4j_of(servers, ranking="server"))
    found = open_stores(settings)
    with found.closing:
        yield found.stores._replace(vectors=stores.vectors)


@pytest.fixture(scope="module")
def shell(servers: Any) -> Iterator[neo4j.Session]:
    """A session as cypher-shell has one: it knows nothing of hlgraph."""
    settings = neo4j_of(servers)
    with (
        neo4j.GraphDatabase.driver(servers.neo4j.url, auth=(settings.user, settings.password)) as driver,
        driver.session(database=settings.database) as session,
    ):
        yield session


def _ask(
    stores: Stores, strategy: str = "chunk_entity", question: str = "Who designed the Aldane Bridge?", **options: Any
) -> SearchResult:
    request = SearchRequest(question, CORPUS, explain=True, **options)
    return search(request, strategy, stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())


def _another(stores: Stores, servers: Any) -> Opened:
    """The same servers, as a process that knows nothing sees them."""
    assert isinstance(stores.vectors, OpenSearchVectorStore)
    return open_stores(
        replace(
            settings_for(servers),
            opensearch=settings_of(servers.opensearch, prefix=stores.vectors.connection.settings.prefix),
        )
    )


def _pasted(session: neo4j.Session, text: str) -> list[dict[str, Any]]:
    """Run a text as cypher-shell does: each ``:param`` is evaluated by the server, the rest is the statement."""
    params: dict[str, Any] = {}
    statement = []
    for line in text.splitlines():
        found = _PARAMETER.fullmatch(line)
        if found:
            params[found[1].strip("`")] = session.run(f"RETURN {found[2]} AS value").single(strict=True)["value"]
        else:
            statement.append(line)
    return [dict(record) for record in session.run("\n".join(statement).removesuffix(";"), params)]


def _rows(found: list[dict[str, Any]]) -> int:
    """A record is a row of its own, however many come in one."""
    return sum(len(row["records"]) if "records" in row else 1 for row in found)


def test_every_query_to_neo4j_gives_the_same_rows_when_it_is_pasted(
    without_image: Stores, shell: neo4j.Session
) -> None:
    calls = [
        call
        for strategy in ("chunk_entity", "topic", "statement_graph", "topic_graph")
        for where in (None, parse('category = "structure" or year > 1800'))
        for call in _ask(without_image, strategy, where=where).explain.calls
        if call.store == "neo4j"
    ]
    assert any(call.name == "retrieve/read_statements" and call.rows and call.rows > 1 for call in calls)
    # A hop of chunk_entity walks from chunks, statements and entities, each by a statement of its own, in one query.
    hop = "retrieve/expand_chunks + expand_statements + expand_mentioned"
    wanted = {"persist/read_corpus", hop, "retrieve/pull_mentions", "retrieve/read_passages"}
    assert wanted <= {call.name for call in calls}
    for call in calls:
        assert call.language == "cypher"
        pasted = _pasted(shell, call.copyable)
        assert _rows(pasted) == call.rows, call.name
        assert pasted == [dict(record) for record in shell.run(call.text, dict(call.params))], call.name


@pytest.mark.parametrize(
    "value",
    [
        "it's",
        'say "x"',
        "C:\\users\\new",
        "\\u0041 \\",
        "line\nend\t\u2028",
        "🌉 e\u0301",
        "`a`",
        "$b {c}; // d",
        "\x00",
    ],
)
def test_any_text_comes_through_a_pasted_parameter(shell: neo4j.Session, value: str) -> None:
    made = {"value": value, "list": [value, 1, 1.5e-9, -0.0, True, None], "map": {"a b": value, "c": [value]}}
    with (
        trace.listening() as heard,
        trace.traced(
            "neo4j", "x", text="RETURN $value AS value, $list AS list, $map AS map", language="cypher", params=made
        ),
    ):
        pass
    assert _pasted(shell, heard.calls[0].copyable) == [made]


def test_queries_and_rows_of_one_store_are_those_it_counted(servers: Any, tmp_path: Path) -> None:
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.embedded.vectors import EmbeddedVectorStore
    from hlgraph.stores.neo4j.graph import Neo4jGraphStore

    with tiny_graph(servers, tmp_path) as tiny:
        graph = Neo4jGraphStore(tiny.server)
        stores = Stores(graph, EmbeddedVectorStore(Database(tmp_path / "vectors")))
        request = SearchRequest("Who designed the Aldane Bridge?", tiny.corpus, explain=True)

        def asked(request: SearchRequest) -> SearchResult:
            return search(request, "chunk_entity", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())

        asked(request)  # what is asked once a process was asked
        graph._warming.join()  # and what was planned beside it, which is no part of a search
        cost = next(item for item in asked(request).explain.stores if item.store == "neo4j")
        before = tiny.server.round_trips, tiny.server.row_count
        asked(replace(request, explain=False))
        after = tiny.server.round_trips, tiny.server.row_count
        assert (after[0] - before[0], after[1] - before[1]) == (cost.round_trips, cost.rows)


def test_requests_to_opensearch_have_body_rows_and_bytes(stores: Stores) -> None:
    explain = _ask(stores, "statement", mode="hybrid").explain
    searches = [call for call in explain.calls if call.store == "opensearch" and "search" in call.name]
    assert searches
    assert all(call.language == "json" and call.bytes and call.rows is not None for call in searches)
    assert all(call.text.startswith("POST /") for call in searches)
    assert any(call.name == "POST /_msearch" for call in searches)
    assert "<32 numbers>" in json.dumps([call.params for call in searches])
    assert any(call.rows == len(DOCUMENTS) + 1 for call in searches)


def test_the_cost_stands_by_store(stores: Stores) -> None:
    explain = _ask(stores, "topic").explain
    assert [item.store for item in explain.stores] == ["image", "neo4j", "opensearch"]
    for item in explain.stores:
        calls = [call for call in explain.calls if call.store == item.store]
        assert (item.calls, item.rows) == (len(calls), sum(call.rows or 0 for call in calls))
        assert item.round_trips >= item.calls


@pytest.mark.parametrize("unit", ["statement", "chunk"])
@pytest.mark.parametrize("strategy", ["statement_graph", "topic_graph"])
@pytest.mark.parametrize("preset", ["paper", "tuned"])
def test_a_beam_takes_at_most_depth_plus_three_round_trips_to_each_server(
    stores: Stores, preset: str, strategy: str, unit: Unit
) -> None:
    request = SearchRequest("Who designed the Aldane Bridge?", CORPUS, 3, unit, explain=True)
    found = search(request, retriever(strategy, preset), stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
    explain = found.explain
    assert explain.parameters["max_depth"] == 3
    assert all(item.round_trips <= 3 + 3 for item in explain.stores), {
        item.store: [call.name for call in explain.calls if call.store == item.store] for item in explain.stores
    }
    names = {(call.store, call.name) for call in explain.calls}
    assert ("image", "pull") in names
    assert ("neo4j", "retrieve/pull_mentions") not in names


_LONG = (
    "Does the record say that the engineer Mara Quill designed the Aldane Bridge over the river Orne, while the article "
    "about Tessing describes who was born in the town, and did the report compare the bridge of stone to another structure "
    "that the engineer built later; is the river named after the town, or the town after the river?"
)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_process_that_knows_nothing_asks_each_server_few_times(
    stores: Stores, hierarchy: None, servers: Any, strategy: str
) -> None:
    del hierarchy
    most = 12 if strategy == "global" else 8
    for question in ("Who designed the Aldane Bridge?", _LONG):
        found = _another(stores, servers)
        with found.closing:
            explain = _ask(found.stores, strategy, question=question).explain
        calls = {item.store: item.round_trips for item in explain.stores}
        names = [(call.store, call.name) for call in explain.calls]
        assert calls["neo4j"] <= most, names
        assert calls["opensearch"] <= most, names


def test_what_a_process_keeps_is_gone_when_another_deletes_it(stores: Stores, servers: Any) -> None:
    steps = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
    pipeline.ingest(DOCUMENTS, "shared", stores=stores, steps=steps)
    request = SearchRequest("Who designed the Aldane Bridge?", "shared", 5)

    def texts(stores: Stores) -> list[str]:
        found = search(request, "path", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())
        return [item.text for item in found.evidence]

    first = texts(stores)
    assert texts(stores) == first  # from what is kept
    found = _another(stores, servers)
    with found.closing, found.stores.graph.lock():
        [source] = [
            item
            for item in found.stores.graph.find(Kind.SOURCE, Scope("shared"))
            if isinstance(item, Source) and item.uri == "doc:engineer"
        ]
        persist(removal("shared", [source.id], versions=[1]), found.stores)
        left = texts(found.stores)
    assert texts(stores) == left
    assert set(left) < set(first)


def test_the_explanation_says_who_walked_and_who_ranked(stores: Stores, without_image: Stores) -> None:
    said = []
    for some in (stores, without_image):
        steps = _ask(some, "path").explain.steps
        said.append({str(step.details["by"]) for step in steps if "by" in step.details})
    assert said == [{"image", "process: on the image"}, {"server"}]


def test_both_kinds_of_stores_explain_the_same_evidence(stores: Stores, tmp_path: Path) -> None:
    local = open_stores(f"hlgraph://{tmp_path}/s")
    with local.closing:
        steps = pipeline.Steps(WholeChunker(), TinyExtractor(), _EMBEDDER)
        pipeline.ingest(DOCUMENTS, CORPUS, stores=local.stores, steps=steps)
        for strategy in ("chunk_entity", "topic", "statement", "statement_graph"):
            here, there = _ask(local.stores, strategy).explain, _ask(stores, strategy).explain
            assert here.graph == there.graph
            assert [path.joined_by for path in here.paths] == [path.joined_by for path in there.paths]
            assert [(hop.name, hop.kept, hop.pruned) for hop in here.hops] == [
                (hop.name, hop.kept, hop.pruned) for hop in there.hops
            ]


def test_no_secret_is_in_an_explanation(stores: Stores, servers: Any) -> None:
    explain = _ask(stores, "statement", mode="hybrid").explain
    told = json.dumps(asdict(explain)) + explain.to_html()
    for found in (servers.neo4j, servers.opensearch):
        assert found.password not in told
        assert found.url not in told


def test_a_call_is_a_record_that_json_can_hold(stores: Stores) -> None:
    for call in _ask(stores).explain.calls:
        assert isinstance(call, Call)
        assert json.loads(json.dumps(asdict(call)))["name"] == call.name
