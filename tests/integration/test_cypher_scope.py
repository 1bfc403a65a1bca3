"""The filter of metadata and the kinds of entities of every analyst's query, and what their queries cost, on the live server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import neo4j
import pytest
from live_stores import neo4j_of
from neo4j_graphs import MillGraph, mill_graph
from thoroughness import cases

import hlgraph
from hlgraph.answer.contradictions import date_of
from hlgraph.errors import InputError, UnknownNameError, WhereError
from hlgraph.ids import fact_id, source_id, statement_id
from hlgraph.sdk import cypher as analyst
from hlgraph.settings import Settings
from hlgraph.stores.queries import Plain
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import field

_LATE = 'date >= "1925"'
_LATE_TITLES = ("Guide", "Papers")
_KINDS = {"Orle Mill": "building", "Hanna Voss": "person", "Piet Marn": "person", "Lund": "place", "Sorrel": "Animal"}
# What is compared of a row: ids depend on the corpus, and the score of a name on the whole index.
_OWN = frozenset({"id", "ids", "score", "first_id", "second_id", "chunk_ids", "statement_ids", "fact_ids"})
# What is decided or derived for a whole corpus, not made by an ingest.
_DERIVED = frozenset({"list_communities", "list_merges", "list_synonyms", "list_changes"})


@pytest.fixture(scope="module")
def late(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MillGraph]:
    """A corpus that has only the sources which :data:`_LATE` admits."""
    with mill_graph(servers, tmp_path_factory.mktemp("late"), titles=_LATE_TITLES) as graph:
        yield graph


@pytest.fixture(scope="module")
def kinds(mill: MillGraph) -> MillGraph:
    """The corpus about the mill, whose entities have kinds."""
    text = "UNWIND keys($kinds) AS name MATCH (e:Entity {corpus: $corpus, name: name}) SET e.kind = $kinds[name]"
    mill.server.driver().execute_query(
        text, {"kinds": _KINDS, "corpus": mill.corpus}, database_=mill.settings.neo4j.database
    )
    return mill


def _rows(place: MillGraph, query: str, /, **params: object) -> list[dict[str, Plain]]:
    table = analyst.run(analyst.load(query), params, graph=place.opened.stores.graph, corpus=place.corpus)
    return [dict(row) for row in table.rows]


def _compared(rows: list[dict[str, Plain]]) -> list[str]:
    return sorted(
        json.dumps({key: value for key, value in row.items() if key not in _OWN and not key.endswith("_id")})
        for row in rows
    )


def _needed(place: MillGraph, name: str) -> dict[str, object]:
    """Values for the parameters of a query that have no default."""
    guide = source_id(place.corpus, "doc:Guide")
    needed: dict[str, dict[str, object]] = {
        "find_bridges": {"first": "Guide", "second": "Papers"},
        "find_entities": {"name": "mill OR hanna OR sorrel OR lund"},
        "list_statements": {"topic": "Mill"},
        "trace_topic": {"topic": "Mill"},
        "compare_entities": {"first": "Hanna Voss", "second": "Piet Marn"},
        "trace_fact": {"fact": fact_id(place.corpus, "Orle Mill", "built by", "Hanna Voss", is_literal=False)},
        "trace_statement": {"statement": statement_id(guide, "The Orle Mill was built by Piet Marn.")},
        "what_connects": {"source": "Piet Marn", "target": "Lund"},
        "find_hubs": {"share": 0},
    }
    return needed.get(name, {"entity": "Orle Mill"} if "entity" in analyst.load(name).params else {})


@pytest.mark.parametrize("name", sorted(analyst.load_all().keys() - _DERIVED))
def test_a_filter_gives_what_a_corpus_of_the_admitted_sources_gives(
    mill: MillGraph, late: MillGraph, name: str
) -> None:
    if name == "find_copies":
        assert _rows(mill, name, characters=1, where=_LATE) == []
        assert len(_rows(mill, name, characters=1, where=f"not exists date or {_LATE}")) == 1
        return
    more = {"k": 1000} if "k" in analyst.load(name).params else {}
    filtered = _rows(mill, name, **_needed(mill, name), **more, where=_LATE)
    expected = _rows(late, name, **_needed(late, name), **more)
    assert _compared(filtered) == _compared(expected)
    if name not in ("find_duplicates", "find_orphans", "find_contradictions", "find_statements_without_facts"):
        assert expected


@pytest.mark.parametrize("name", sorted(analyst.load_all()))
def test_a_filter_that_admits_nothing_or_everything(mill: MillGraph, name: str) -> None:
    params = _needed(mill, name)
    assert _rows(mill, name, **params, where='title = "nowhere"') == []
    if name != "list_changes" and name not in _DERIVED:
        everything = _compared(_rows(mill, name, **params, where="exists title"))
        assert everything == _compared(_rows(mill, name, **params))


def test_what_is_derived_is_filtered_by_the_sources_of_its_members(mill: MillGraph) -> None:
    assert [row["members"] for row in _rows(mill, "list_communities", where='title = "Horse"')] == []
    assert [row["members"] for row in _rows(mill, "list_communities", where='title = "Guide"')] == [1, 1]
    assert [row["name"] for row in _rows(mill, "list_synonyms", entity="Lund", where='title = "Papers"')] == ["Lund"]
    assert {row["name"] for row in _rows(mill, "list_synonyms", entity="Lund", where='title = "Horse"')} == {"Sorrel"}
    added = _rows(mill, "list_changes", where='title = "Horse"')
    assert {row["label"] for row in added} == {"Source", "Statement", "Topic", "Entity"}
    assert {row["title"] for row in added if row["title"]} == {"Horse"}


# Kinds


def test_kinds_restrict_what_is_ranked_listed_and_found(kinds: MillGraph) -> None:
    def names(query: str, column: str = "name", /, **params: object) -> list[Plain]:
        return sorted((row[column] for row in _rows(kinds, query, **params)), key=str)

    assert names("rank_entities", kinds="person") == ["Hanna Voss", "Piet Marn"]
    assert {row["degree"] for row in _rows(kinds, "rank_entities", kinds="building")} == {3}  # neighbours of any kind
    assert names("rank_entities", kinds="PLACE, animal") == ["Lund", "Sorrel"]
    assert names("list_neighbours", entity="Orle Mill", kinds=["place"]) == ["Lund"]
    assert names("find_entities", name="hanna OR lund", kinds="place") == ["Lund"]
    assert names("find_hubs", share=0, kinds="place") == ["Lund"]
    assert names("list_facts", "object", entity="Orle Mill", kinds="person") == ["Hanna Voss", "Piet Marn"]
    assert names("date_facts", "predicate", entity="Hanna Voss", kinds="place") == ["lived in"]
    assert names("list_mentions", "statement", entity="Hanna Voss", kinds="place") == ["Hanna Voss lived in Lund."]
    assert names("rank_facts", "predicate", kinds="place") == ["lived in"]
    assert names("rank_predicates", "predicate", kinds="person") == ["lived in"]  # of subjects
    assert names("find_facts", "subject", kinds="building", object_kinds="person") == ["Orle Mill"] * 2
    assert names("find_facts", "subject", kinds="building", object_kinds="place") == []
    assert names("find_contradictions", "subject", kinds="person") == []
    assert names("pair_entities", "first", kinds="person") == []
    assert names("list_sources", "title", kinds="animal") == ["Horse"]
    assert names("rank_sources", "title", kinds="place") == ["Papers"]
    assert names("rank_chunks", "title", kinds="place") == ["Papers"]
    assert names("rank_topics", "topic", kinds="animal") == ["Horse"]
    assert names("find_bridges", first="Gazette", second="Papers", kinds="person") == ["Hanna Voss"]
    assert names("find_orphans", kinds="animal") == ["Sorrel"]
    assert names("find_statements_without_facts", "statement", kinds="animal") == ["Sorrel is a horse."]
    assert names("compare_entities", first="Piet Marn", second="Hanna Voss", kinds="person") == []
    assert names("list_communities", "names", kinds="person") == [["Hanna Voss"], ["Hanna Voss"]]
    assert {row["name"] for row in _rows(kinds, "list_changes", kinds="animal")} == {"Sorrel is a horse.", "Sorrel"}
    steps = _rows(kinds, "what_connects", source="Piet Marn", target="Lund", kinds="building")
    assert [(row["start"], row["end"]) for row in steps] == [("Piet Marn", "Orle Mill"), ("Orle Mill", "Lund")]


@pytest.mark.parametrize("name", sorted(analyst.load_all()))
def test_all_kinds_are_as_none(kinds: MillGraph, name: str) -> None:
    """Of entities. Records of other kinds are left out if they mention none."""
    params = _needed(kinds, name) | ({"k": 1000} if "k" in analyst.load(name).params else {})
    some = _compared(_rows(kinds, name, **params, kinds="person, place, building, animal"))
    counts = {"count_growth", "count_mentions", "measure_coverage", "compare_entities"}  # of less
    assert name in counts or set(some) <= set(_compared(_rows(kinds, name, **params)))


def test_an_unknown_kind_or_field_is_answered_with_near_ones(kinds: MillGraph) -> None:
    with pytest.raises(UnknownNameError, match=r"has the kind 'persn'; did you mean person\?"):
        _rows(kinds, "rank_entities", kinds="place, persn")
    with pytest.raises(UnknownNameError, match="its kinds: Animal, building, person, place"):
        _rows(kinds, "rank_entities", kinds="zzz")
    with pytest.raises(WhereError, match="no source has a field 'dat'; did you mean 'date'"):
        _rows(kinds, "rank_entities", where='dat >= "1925"')
    with pytest.raises(WhereError, match="date"):
        _rows(kinds, "rank_entities", where="date >= 1925")
    with pytest.raises(UnknownNameError, match="there is no corpus 'nowhere'"):
        _rows(kinds, "rank_entities", corpus="nowhere", where='date >= "1925"')
    with pytest.raises(InputError, match=r"changes is 65; choose a whole number in 1\.\.64"):
        _rows(kinds, "list_changes", changes=65)


@pytest.mark.parametrize("text", ["'}) DETACH DELETE n //", "$k", "` RETURN 1 //", "\\u0027", "a" * 10_000])
def test_no_value_becomes_part_of_a_query(kinds: MillGraph, text: str) -> None:
    assert _rows(kinds, "rank_entities", where=field("title") == text) == []
    with pytest.raises(UnknownNameError, match="has the kind"):
        _rows(kinds, "rank_entities", kinds=[text.replace(",", "")])
    assert _rows(kinds, "find_facts", predicate=text) == []
    assert {row["date"] for row in _rows(kinds, "date_facts", entity="Orle Mill", field=text)} == {None}


# What was mended


@pytest.fixture
def graph(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[hlgraph.HLGraph]:
    """A client of an empty corpus."""
    folder = tmp_path_factory.mktemp("scope")
    settings = Settings(
        store=servers.neo4j.url, vectors=f"hlgraph://{folder}/vectors", corpus=folder.name, neo4j=neo4j_of(servers)
    )
    with hlgraph.connect(settings, embedder=WordEmbedder()) as client:
        yield client
        client.delete(everything=True)


def _document(title: str, text: str, **metadata: Any) -> hlgraph.Document:
    return hlgraph.Document(f"doc:{title}", text, title, metadata)


def test_the_date_of_a_source_is_found_in_its_metadata(graph: hlgraph.HLGraph) -> None:
    built = "The Orle Mill was built by Hanna Voss."
    graph.ingest(
        [
            _document("a", built, year=1901),
            _document("b", built, published="1925-03-10"),
            _document("c", built, decided_on="1931-05-06T07:08:09+00:00", note="no date"),
            _document("d", built, tags=["1950-01-01", "x"], note="none"),
            _document("e", built, date="2001-02-03", year=1999),
        ]
    )
    found = graph.cypher("date_facts", entity="Hanna Voss").rows
    assert [(row["title"], row["date"]) for row in found] == [
        ("a", "1901"),
        ("b", "1925-03-10"),
        ("c", "1931-05-06"),
        ("e", "2001-02-03"),
        ("d", None),
    ]
    assert [row["year"] for row in graph.cypher("count_mentions", entity="Hanna Voss").rows] == [
        "2001",
        "1931",
        "1925",
        "1901",
        None,
    ]
    assert [row["date"] for row in graph.cypher("date_facts", entity="Hanna Voss", field="year").rows][:2] == [
        "1901",
        "1999",
    ]
    assert len(graph.cypher("count_growth").rows) == 5


def test_what_is_no_date_dates_no_source(graph: hlgraph.HLGraph) -> None:
    """A flag, a word, seconds since 1970 and an empty text are no dates; a column of years with a missing one holds floats."""
    given: dict[str, tuple[dict[str, Any], str | None]] = {
        "flag": ({"published": True, "created": "2001-02-03"}, "2001-02-03"),
        "words": ({"date": "5 March 1931", "year": 1931}, "1931"),
        "about": ({"year": "c. 1850"}, None),
        "seconds": ({"created": 1709634600}, None),
        "empty": ({"date": "", "issued": "1990-05"}, "1990-05"),
        "float": ({"year": 1932.0}, "1932"),
        "slashes": ({"date": "1933/03/05"}, "1933/03/05"),
        "early": ({"year": 79}, "79"),
        "before": ({"year": -44}, "-44"),
    }
    built = "The Orle Mill was built by Hanna Voss."
    graph.ingest([_document(title, built, **metadata) for title, (metadata, _) in given.items()])
    assert {row["title"]: row["date"] for row in graph.cypher("date_facts", entity="Hanna Voss").rows} == {
        title: date for title, (_, date) in given.items()
    }
    years = [row["year"] for row in graph.cypher("count_mentions", entity="Hanna Voss", k=100).rows]
    assert years == ["2001", "1990", "1933", "1932", "1931", "79", "-44", None]
    assert [row["day"] for row in graph.cypher("count_growth").rows][-4:] == ["1931", "79", "-44", None]
    assert {row["date"] for row in graph.cypher("date_facts", entity="Hanna Voss", field="published").rows} == {None}
    assert {source.title: date_of(source) for source in graph.sources.list()} == {
        title: date for title, (_, date) in given.items()
    }


def test_what_may_hold_for_many_objects_is_no_contradiction(graph: hlgraph.HLGraph) -> None:
    graph.ingest(
        [
            _document("a", "Orle is a town. Orle was founded in 1204. Lund was founded in 1310."),
            _document("b", "Orle is a harbour. Orle was founded in 1240."),
        ]
    )
    found = graph.cypher("find_contradictions").rows
    assert [(row["subject"], row["predicate"], row["objects"]) for row in found] == [
        ("Orle", "was founded in", ["1204", "1240"])
    ]
    assert {row["predicate"] for row in graph.cypher("find_contradictions", predicate="IS").rows} <= {"is"}


def test_communities_of_chunks_are_named_by_source_and_heading(graph: hlgraph.HLGraph) -> None:
    text = (
        "# Orle\n\nThe mill of Orle stands on the Velm.\n\n## History of the mill\n\n"
        + "The mill was built by Hanna Voss in 1880. " * 20
    )
    graph.ingest([_document("Orle", text), _document("Lund", text.replace("Orle", "Lund"))])
    graph.hierarchy.build()
    names = {name for row in graph.cypher("list_communities", run="hierarchy").rows for name in row["names"]}
    assert names
    assert all("\n" not in str(name) and "built by" not in str(name) and len(str(name)) < 80 for name in names)
    assert any(str(name).startswith("Orle") for name in names)


def test_what_an_edit_added_and_removed(graph: hlgraph.HLGraph) -> None:
    first, second = "The Orle Mill was built by Hanna Voss.", "The Orle Mill was sold to Ada Berg."
    graph.ingest(
        [_document("Mill", f"{first} The Orle Mill has six sails."), _document("Horse", "Sorrel was born in Lund.")]
    )
    before = {row["id"]: row["name"] for row in graph.cypher("list_changes", k=100).rows}
    graph.ingest([_document("Mill", f"{first} {second}")])
    found = graph.cypher("list_changes", k=100).rows
    assert [(row["change"], row["label"], row["name"]) for row in found if row["change"] != "removed"] == [
        ("edited", "Source", "doc:Mill"),
        ("added", "Statement", second),
        ("added", "Fact", "Orle Mill was sold to Ada Berg"),
        ("added", "Entity", "Ada Berg"),
    ]
    removed = [(row["label"], before[row["id"]]) for row in found if row["change"] == "removed"]
    assert sorted(removed) == [("Fact", "Orle Mill has six sails"), ("Statement", "The Orle Mill has six sails.")]
    both = graph.cypher("list_changes", changes=2, k=100).rows
    horse = "Horse: Sorrel was born in Lund."
    assert {row["name"] for row in both if row["label"] == "Statement"} >= {first, second, horse}
    graph.delete(["doc:Horse"])
    gone = graph.cypher("list_changes", k=100).rows
    assert {row["change"] for row in gone} == {"removed"}
    assert {before[row["id"]] for row in gone} >= {
        "doc:Horse",
        horse,
        "Sorrel was born in Lund",
        "Sorrel",
    }
    assert graph.cypher("list_changes", where='title = "Mill"').rows == ()


# Cost


def _hits(plan: Mapping[str, Any]) -> int:
    return int(plan.get("dbHits", 0)) + sum(map(_hits, plan.get("children", ())))


def _profiled(session: neo4j.Session, name: str, **params: object) -> tuple[int, list[neo4j.Record]]:
    query = analyst.load(name)
    values = {item.name: item.default for item in query.parameters} | {"where": None, "kinds": []} | params
    result = session.run(f"PROFILE {query.text}", values)
    records = list(result)
    plan = result.consume().profile
    assert plan is not None
    return _hits(plan), records


_FILL = (
    "UNWIND range(0, $entities - 1) AS i CREATE (:Entity {id: $corpus + '-e' + i, corpus: $corpus, name: 'E' + i})",
    """UNWIND range(0, $chunks - 1) AS c CALL (c) {
      MATCH (hub:Entity {id: $corpus + '-e0'})
      CREATE (n:Chunk {id: $corpus + '-c' + c, corpus: $corpus, source_id: 'd', text: 'x'})
      WITH hub, c, n UNWIND range(0, 4) AS j
      CALL (c, j) { MATCH (o:Entity {id: $corpus + '-e' + toString(1 + (c * 5 + j) % ($entities - 1))}) RETURN o }
      CREATE (s:Statement {id: n.id + '-' + j, corpus: $corpus, source_id: 'd', text: 's'})-[:IN_CHUNK {ordinal: j}]->(n)
      CREATE (s)-[:MENTIONS {chunks: [n.id]}]->(hub) CREATE (s)-[:MENTIONS {chunks: [n.id]}]->(o)
    } IN TRANSACTIONS OF 500 ROWS""",
)


def test_entities_are_ranked_by_reading_each_mention_once(mill: MillGraph) -> None:
    """Beside a hub, among 683 entities; at 50,000 statements three million hits before."""
    entities, chunks, corpus = 683, cases(1_000, 10_000), f"{mill.corpus}-hub"
    values = {"entities": entities, "chunks": chunks, "corpus": corpus}
    mentions = 2 * 5 * chunks
    with mill.server.driver().session(database=mill.settings.neo4j.database) as session:
        try:
            for text in _FILL:
                session.run(text, values).consume()
            hits, records = _profiled(session, "rank_entities", corpus=corpus)
            assert hits <= 2 * mentions + 10 * entities
            best, second = records[:2]
            assert (best["name"], best["degree"], best["statements"]) == ("E0", entities - 1, 5 * chunks)
            assert 4 <= second["degree"] <= 10
            query, seconds = analyst.load("rank_entities").text, []
            for _ in range(3):
                began = time.perf_counter()
                session.run(query, {"corpus": corpus, "where": None, "kinds": [], "k": 25}).consume()
                seconds.append(time.perf_counter() - began)
            assert min(seconds) < 1
        finally:
            text = "MATCH (n:Entity|Chunk|Statement {corpus: $corpus}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS"
            session.run(text, values).consume()


@pytest.mark.parametrize("between", ["", "Lund"])
def test_chunks_that_overlap_are_no_common_chunk(graph: hlgraph.HLGraph, between: str) -> None:
    """A statement of two chunks joins what they mention only through an entity of its own."""
    days = [f"It rained on day {number} and all stayed at home until the evening." for number in range(1, 21)]
    overlap = f"All went to {between} then." if between else "All went home then."
    text = ["Hanna Voss came.", " ".join(days[:10]), overlap, " ".join(days[10:]), "Piet Marn left."]
    graph.ingest([_document("notes", "\n\n".join(text))])
    chunks = graph.sources.open("doc:notes").chunks
    assert [overlap in chunk.text for chunk in chunks] == [True, True]
    assert (
        ["Hanna" in chunk.text for chunk in chunks] == ["Piet" not in chunk.text for chunk in chunks] == [True, False]
    )
    found = graph.cypher("what_connects", source="Hanna Voss", target="Piet Marn").rows
    steps = [("Hanna Voss", between, 1), (between, "Piet Marn", 1)] if between else []
    assert [(row["start"], row["end"], row["chunks"]) for row in found] == steps


def test_a_fact_about_one_entity_alone_counts_once(graph: hlgraph.HLGraph) -> None:
    graph.ingest([_document("a", "Hanna Voss visited HANNA VOSS. Hanna Voss built the Orle Mill.")])
    for where in ("", 'title = "a"'):
        rows = graph.cypher("rank_entities", where=where).rows
        listed = {row["name"]: len(graph.cypher("list_facts", entity=str(row["name"])).rows) for row in rows}
        assert {row["name"]: row["facts"] for row in rows} == listed
    assert listed["Hanna Voss"] == 2


def test_a_comma_at_the_end_of_kinds_adds_no_entities_without_a_kind(kinds: MillGraph) -> None:
    wanted = _rows(kinds, "rank_entities", kinds="person")
    assert {row["kind"] for row in wanted} == {"person"}
    for text in ("person,", " ,person, ,"):
        assert _rows(kinds, "rank_entities", kinds=text) == wanted
    unset = "MATCH (e:Entity {corpus: $corpus, name: 'Lund'}) SET e.kind = $kind"
    ask = kinds.server.driver().execute_query
    ask(unset, {"corpus": kinds.corpus, "kind": ""}, database_=kinds.settings.neo4j.database)
    try:
        assert _rows(kinds, "rank_entities", kinds="person,") == wanted
        with pytest.raises(UnknownNameError, match=r"its kinds: [a-zA-Z]"):
            _rows(kinds, "rank_entities", kinds="none")
    finally:
        ask(unset, {"corpus": kinds.corpus, "kind": "place"}, database_=kinds.settings.neo4j.database)
