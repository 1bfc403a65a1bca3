"""What a corpus contains is listed page by page and opened, on both stores, and within what a caller may see."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from live_stores import neo4j_of, settings_for
from live_stores import opened as opened_servers

import hlgraph
from hlgraph.errors import AccessError, InputError, MissingExtraError, UnknownNameError, WhereError
from hlgraph.records import Answer, Document, Kind
from hlgraph.sdk import contents
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.contents import Page
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import GraphStore, Scope
from hlgraph.testing.embedder import WordEmbedder

PAPERS = [
    Document(
        f"doc:{number}",
        f"# Works\n\nMara Quill designed the Aldane Bridge {number}. Ivo Brandt visited Tessing.\n\n"
        + " ".join(f"Petra Voss {number} left Gannow {at}." for at in range(number)),
        f"Paper {number}",
        {"year": 1900 + number, "acl": "public" if number % 2 else "board"},
    )
    for number in range(7)
]


def everything(page: Callable[..., Page[Any]], **options: Any) -> list[Any]:
    """All records of a list, page by page; each page has the total and is full but for the last one."""
    pages = [page(limit=2, **options)]
    while pages[-1].after is not None:
        pages.append(page(limit=2, after=pages[-1].after, **options))
    records = [record for each in pages for record in each]
    assert {each.total for each in pages} == {len(records)}
    assert all(len(each) == 2 for each in pages[:-1])
    assert [record.id for record in records] == sorted({record.id for record in records})
    return records


@contextlib.contextmanager
def embedded(folder: Path) -> Iterator[HLGraph]:
    with hlgraph.connect(f"hlgraph://{folder}", embedder=WordEmbedder()) as graph:
        yield graph


@pytest.fixture(params=["embedded", "servers"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HLGraph]:
    if request.param == "embedded":
        with embedded(tmp_path) as graph:
            graph.ingest(PAPERS)
            yield graph
        return
    servers = request.getfixturevalue("servers")
    settings = settings_for(servers)
    with opened_servers(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        graph.ingest(PAPERS)
        yield graph


def test_what_is_stored_is_listed_page_by_page_and_opened(graph: HLGraph) -> None:
    operator = graph.as_operator()
    records = operator.stats()[0].records
    sources = everything(operator.sources.list)
    assert {source.uri for source in sources} == {paper.uri for paper in PAPERS}
    assert len(everything(operator.entities.list)) == records[Kind.ENTITY]
    facts = everything(operator.facts.list)
    assert len(facts) == records[Kind.FACT]
    assert [each.id for each in operator.sources.each()] == [each.id for each in sources]

    paper = PAPERS[6]
    opened = operator.sources.open(paper.uri)
    assert opened.text.split() == paper.text.split()
    assert opened.source.metadata["year"] == 1906
    assert all(opened.text[chunk.start : chunk.end] == chunk.text for chunk in opened.chunks)
    assert {chunk.source_id for chunk in opened.chunks} == {opened.source.id}
    said = {opened.text[each.start : each.end] for each in opened.statements}
    assert "Ivo Brandt visited Tessing." in said
    assert operator.sources.open(opened.source.id) == opened

    quill = operator.entities.open("mara QUILL", limit=3)
    assert (quill.entity.name, quill.fact_count, len(quill.facts)) == ("Mara Quill", 7, 3)
    assert quill.neighbour_count == 14
    assert not quill.is_cut
    (fact, *_) = quill.facts
    assert fact.fact.subject == "Mara Quill"
    assert fact.total == len(fact.statements) == 1
    assert {each.uri for each in fact.sources.values()} <= {each.uri for each in sources}
    visited = next(fact for fact in facts if fact.subject == "Ivo Brandt")
    assert visited.text == "Ivo Brandt visited Tessing"
    support = operator.facts.open(visited.id, limit=4)
    assert (support.fact, support.total, len(support.statements)) == (visited, 7, 4)
    assert max(len(str(shown)) for shown in (opened, quill, support)) < 1_000  # the parts are not printed
    rest = operator.facts.open(visited.id, limit=4, skip=4)
    assert (rest.total, len({*support.statements, *rest.statements})) == (7, 7)


def test_a_filter_and_the_groups_of_a_caller_bound_what_is_listed_and_counted(graph: HLGraph) -> None:
    operator, view = graph.as_operator(), graph.as_caller({"public"})
    late = everything(operator.sources.list, where="year >= 1902")
    assert {source.uri for source in late} == {f"doc:{number}" for number in range(2, 7)}
    assert {source.uri for source in everything(view.sources.list)} == {"doc:1", "doc:3", "doc:5"}
    assert {source.uri for source in everything(view.sources.list, where="year >= 1902")} == {"doc:3", "doc:5"}
    names = {entity.name for entity in everything(view.entities.list)}
    assert {"Mara Quill", "Petra Voss 5", "Aldane Bridge 1"} <= names
    assert not {"Petra Voss 4", "Aldane Bridge 2"} & names
    assert {fact.subject for fact in everything(view.facts.list)} == {
        *("Mara Quill", "Ivo Brandt", "Petra Voss 1", "Petra Voss 3", "Petra Voss 5")
    }
    assert view.entities.open("Mara Quill").fact_count == 3
    for opening in (view.sources, view.entities):
        for name in ("doc:2", operator.sources.open("doc:2").source.id, "Petra Voss 4", "nothing", ""):
            with pytest.raises(UnknownNameError):
                opening.open(name)
    hidden = next(fact for fact in operator.facts.each() if fact.subject == "Petra Voss 4")
    with pytest.raises(UnknownNameError):
        view.facts.open(hidden.id)
    with pytest.raises(AccessError, match="as_caller"):
        graph.sources.list()
    with pytest.raises(AccessError, match="right to operate"):
        view.facts.read()
    with pytest.raises(WhereError, match="nothing"):
        operator.sources.list(where="nothing = 1")
    with pytest.raises(InputError, match="limit"):
        operator.entities.list(limit=0)


def test_a_page_goes_on_where_the_last_one_ended_though_its_end_is_deleted(graph: HLGraph) -> None:
    operator = graph.as_operator()
    first = operator.sources.list(limit=3)
    graph.delete(first[-1].uri)
    second = operator.sources.list(limit=10, after=first.after)
    assert second.total == 6
    assert len(second) == 4
    assert second.after is None
    assert min(source.id for source in second) > first[-1].id


def test_the_past_is_listed_and_opened(tmp_path: Path) -> None:
    with embedded(tmp_path) as graph:
        graph.ingest(PAPERS[1:2], keep_history=True)
        before = graph.stats()[0].version
        graph.ingest([Document("doc:1", "Orsel Works paid Ivo Brandt.", metadata={"acl": "public"})])
        operator = graph.as_operator()
        assert [source.version for source in operator.sources.list(as_of=before)] == [1]
        assert "Mara Quill" in operator.sources.open("doc:1", as_of=before).text
        assert operator.sources.open("doc:1").text == "Orsel Works paid Ivo Brandt."
        assert "Mara Quill" not in {entity.name for entity in operator.entities.list()}
        assert operator.entities.open("Mara Quill", as_of=before).fact_count == 1
        view = graph.as_caller({"board"})
        assert view.sources.list(as_of=operator.sources.open("doc:1", as_of=before).source.valid_from).total == 0


def test_merged_entities_are_opened_as_one(tmp_path: Path) -> None:
    with embedded(tmp_path) as graph:
        graph.ingest([Document("doc:a", "Mara Quill designed the Aldane Bridge. M. Quill visited Tessing.")])
        graph.merges.apply([("M. Quill", "Mara Quill")])
        opened = graph.entities.open("M. Quill")
        assert {opened.entity.name, *(each.name for each in opened.merged)} == {"Mara Quill", "M. Quill"}
        assert opened.fact_count == 2


def test_the_commands_list_and_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}")
    with embedded(tmp_path) as graph:
        graph.ingest(PAPERS)
        fact = next(each for each in graph.as_operator().facts.each() if each.subject == "Ivo Brandt")
        assert "(id, uri" not in str(graph.as_operator().sources.list())
    code, out, _ = call("sources", "--as", "public", "--limit", "2")
    *_, after = out.splitlines()[-1].split()
    assert code == 0
    assert out.splitlines()[-1] == f"2 of 3 shown; the next page: add --after {after}"
    code, out, _ = call("sources", "--as", "public", "--limit", "2", "--after", after, "--json")
    assert (json.loads(out)["total"], json.loads(out)["after"], len(json.loads(out)["sources"])) == (3, None, 1)
    assert call("entities", "--as", "public", "--where", "year = 1905")[1].splitlines()[-1].endswith("shown")
    assert "Mara Quill" in call("entities", "--as-operator", "--match", "quill mara")[1]
    assert "Ivo Brandt" not in call("entities", "--as-operator", "--match", "quill mara")[1]
    assert f"{fact.id}  Ivo Brandt visited Tessing" in call("facts", "--as-operator", "--limit", "100")[1]
    assert "of 1 chunks shown" in call("show", "doc:1", "--as", "public")[1]
    assert "7 facts shown" in call("show", "mara quill", "--as-operator")[1]
    assert "3 of 7 statements shown; more: --skip 3" in call("show", fact.id, "--as-operator", "--limit", "3")[1]
    rest = call("show", fact.id, "--as-operator", "--limit", "5", "--skip", "3")[1]
    assert "4 of 7 statements shown" in rest
    assert "more: " not in rest
    for skip in (-1, 1 << 64):
        code, _, error = call("show", "doc:1", "--as-operator", "--skip", str(skip))
        assert (code, f"skip is {skip}; it must not be negative" in error) == (2, True)
    tree = json.loads(call("show", "doc:6", "--as-operator", "--json")[1])["source"]
    assert (tree["metadata"]["year"], tree["text"].startswith("# Works")) == (1906, True)
    code, _, error = call("show", "doc:2", "--as", "public")
    assert (code, "hlgraph sources" in error) == (2, True)
    code, _, error = call("sources")
    assert (code, "--as GROUP" in error) == (2, True)


def test_results_have_a_length_and_print_and_become_tables(tmp_path: Path) -> None:
    with embedded(tmp_path) as graph:
        report = graph.ingest(
            [Document("doc:<a>", "Mara Quill designed the Aldane Bridge.", "<b>", {"tags": ["x", "y"]})]
        )
        graph.ingest([Document("doc:b", "Ivo Brandt visited Tessing.", metadata={"tags": 3})])
        assert "1 added" in str(report)
        assert "1 added" in report._repr_html_()
        result = graph.search("Who designed the bridge?", k=2)
        assert len(result) == 2
        assert [piece.text for piece in result] == [piece.text for piece in result.evidence]
        assert result[0].text == "<b>: Mara Quill designed the Aldane Bridge."
        assert str(result).startswith(f"[1] {result[0].score:.3f}  {result[0].text}\n    <b>; characters 0-")
        assert len(str(result.explain)) < 200
        assert "seed" in str(graph.search("Who designed the bridge?", explain=True).explain)
        answer = graph.answer("Who designed the Aldane Bridge?")
        assert "[1] <b>; characters" in str(answer)
        for shown in (result, answer, graph.sources.list(), graph.entities.list(), graph.facts.list()):
            html = shown._repr_html_()
            assert "<table>" in html
            assert "<b>" not in html
        frame = graph.sources.list().to_pandas()
        assert set(frame["uri"]) == {"doc:<a>", "doc:b"}
        for listing in (result, graph.sources.list(), graph.entities.list(), graph.facts.list()):
            table = listing.to_arrow()
            assert table.num_rows == len(listing) == len(listing.to_pandas())
            assert table.column_names == list(listing.to_pandas().columns)
        assert set(graph.sources.list().to_arrow()["metadata.tags"].to_pylist()) == {"x, y", "3"}  # values of two types
        for part in (graph.sources, graph.entities, graph.facts):  # all of them
            assert part.to_arrow().to_pylist() == part.list(limit=100).to_arrow().to_pylist()
            assert list(part.to_pandas()["id"]) == [each.id for each in part.each()]
        cited = answer.to_pandas()
        assert list(cited["number"]) == [each.number for each in answer.citations] != []
        assert list(cited["place"]) == [each.evidence.place for each in answer.citations]
        assert answer.to_arrow().column_names == list(cited.columns) == list(result.to_pandas().columns)
        assert list(Answer("Who?", "", (), is_supported=False).to_pandas().columns) == list(cited.columns)
        nothing = {"where": "title = 'none'"}
        for empty, column in (
            (graph.sources.list(**nothing), "uri"),
            (graph.entities.list(**nothing), "name"),
            (graph.entities.list(match="nobody"), "name"),
            (graph.facts.list(**nothing), "predicate"),
        ):
            assert empty.to_arrow().num_rows == len(empty.to_pandas()[column]) == 0
            assert f"<th>{column}</th>" in empty._repr_html_()
        assert str(graph.sources.list(where="title = 'none'")) == "0 of 0 shown"


def test_matches_come_by_relevance_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name itself first, then names that begin with it, have it as a word, and have it as a part; the shorter first."""
    names = [
        "Tessing",
        "Tessing House",
        "Tessingham Station",
        "Old Tessing",
        "Orsel Old Tessing",
        "Brantessing",
        "Gannow",
    ]
    with embedded(tmp_path) as graph:
        graph.ingest([Document(f"doc:{at}", f"Ada Orsel visited {name}.") for at, name in enumerate(reversed(names))])
        for pages in (20, 1):  # all in one look, and look by look
            monkeypatch.setattr(contents, "_MATCH_PAGES", pages)
            monkeypatch.setattr(contents, "AT_ONCE", 1_000 if pages > 1 else 3)
            for limit in (1, 2, 100):
                found, after = [], None
                while True:
                    page = graph.entities.list(match="tessing", limit=limit, after=after)
                    found += [entity.name for entity in page]
                    after = page.after
                    if after is None:
                        break
                assert sorted(found) == sorted(names[:-1])
                assert found[0] == "Tessing"
                assert pages == 1 or found == names[:-1]
        assert graph.entities.list(match="old  TESSING")[0].name == "Old Tessing"
        for after in ("garbage", "0f7a94f6dcbde7d5038038302d3113bf", "", ".0.0.\n"):
            with pytest.raises(InputError, match="where no page ends"):
                graph.entities.list(match="tessing", after=after)


def test_a_table_without_the_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    for convert in (Page.to_pandas, Page.to_arrow):
        with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[frames\]'"):
            convert(Page((), 0, None))


def test_a_page_on_neo4j_costs_the_same_whatever_is_stored(servers: Any, tmp_path: Path) -> None:
    """With and without an image of the graph: a page is a bounded number of requests and rows."""
    many = [
        Document(f"doc:{at}", f"Mara Quill {at} designed the Aldane Bridge {at}.", metadata={"odd": at % 2 == 1})
        for at in range(50)
    ]
    settings = settings_for(servers)
    with opened_servers(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        graph.ingest(many)
        with contextlib.closing(Server(servers.neo4j.url, neo4j_of(servers))) as server:
            plain: GraphStore = Neo4jGraphStore(server)
            for part, kind in ((graph.sources, Kind.SOURCE), (graph.entities, Kind.ENTITY), (graph.facts, Kind.FACT)):
                for where in (None, hlgraph.field("odd") == True, hlgraph.field("odd") != True):  # noqa: E712
                    pages = [part.list(limit=10, where=where)]
                    scope, costs = Scope(graph.corpus, where), []
                    while pages[-1].after is not None:
                        after = pages[-1].after
                        before = server.round_trips, server.row_count
                        ids = plain.page(kind, scope, after=after, size=10)
                        costs.append((server.round_trips - before[0], server.row_count - before[1]))
                        pages.append(part.list(limit=10, where=where, after=after))
                        assert (ids.ids, ids.total) == (tuple(each.id for each in pages[-1]), pages[-1].total)
                        assert ids == GraphStore.page(plain, kind, scope, after=after, size=10)
                    trips, rows = zip(
                        *costs[1:], strict=True
                    )  # the first one counts, and decides which sources a filter admits
                    assert max(trips) <= 3
                    assert max(rows) <= 13
