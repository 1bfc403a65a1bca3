"""A caller sees only the sources that name one of its groups; the leakage kit finds nothing, and would find what is dropped."""

from __future__ import annotations

import asyncio
import functools
import importlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
import tables
import typer
from command_line import call
from thoroughness import cases

import hlgraph
from hlgraph.answer import AnswerRequest
from hlgraph.answer.tables import TableReader
from hlgraph.cli.app import app
from hlgraph.errors import AccessError, InputError, UnknownNameError, WhereError
from hlgraph.ids import entity_id
from hlgraph.ingest.options import IngestOptions
from hlgraph.records import Document, Hit, Kind
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.retriever import Ranked
from hlgraph.retrieve.session import Session
from hlgraph.sdk.aio import AsyncHLGraph
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.watching import WatchEvent, watch
from hlgraph.stores import trace
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.protocols import Decider, Decision, IdPage, Scope, Verdict
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.leakage import (
    ASKED,
    FILTERS,
    Call,
    History,
    Leak,
    contradictions,
    every_call,
    exports,
    leaks,
    listings,
    past_leaks,
    questions,
    refusals,
)
from hlgraph.text import ACL
from hlgraph.where import Caller

SESSION = importlib.import_module("hlgraph.retrieve.session")  # the package has functions of these names
GRAPH_FILES = importlib.import_module("hlgraph.sdk.graph_formats")
SEARCH = importlib.import_module("hlgraph.retrieve.search")
Opened = Callable[[], AbstractContextManager[HLGraph]]

MODES = ("hybrid", "text", "vector")
PAPERS = [
    Document("doc:open", "Mara Quill designed the Aldane Bridge.", metadata={"acl": "public"}),
    Document(
        "doc:cost", "Ivo Brandt paid MARA QUILL three million.", metadata={"acl": ["finance", "board"], "secret": 1}
    ),
    Document("doc:none", "Petra Voss sold the Aldane Bridge."),
]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    numbers = iter(range(1_000))

    @contextmanager
    def new() -> Iterator[HLGraph]:
        with hlgraph.connect(f"hlgraph://{tmp_path}/{next(numbers)}", embedder=WordEmbedder()) as graph:
            yield graph

    return new


@pytest.fixture
def papers(opened: Opened) -> Iterator[HLGraph]:
    with opened() as graph:
        graph.ingest(PAPERS)
        yield graph


def uris(graph: HLGraph, question: str = "Who designed the Aldane Bridge?") -> set[str]:
    return {piece.source.uri for piece in graph.search(question, strategy="statement").evidence}


def test_a_caller_sees_what_names_a_group_of_it_and_an_operator_everything(papers: HLGraph) -> None:
    assert uris(papers.as_caller({"public"})) == {"doc:open"}
    assert uris(papers.as_caller(["board", "public"])) == {"doc:open", "doc:cost"}
    assert uris(papers.as_caller({"elsewhere"})) == set()
    assert uris(papers.as_operator()) == {"doc:open", "doc:cost", "doc:none"}


def test_a_corpus_with_groups_answers_nobody_without_a_caller(papers: HLGraph) -> None:
    for ask in (papers.search, papers.answer, lambda question: list(papers.answer_stream(question))):
        with pytest.raises(AccessError, match=r"as_caller.*as_operator"):
            ask("Who designed the Aldane Bridge?")


def test_a_corpus_without_groups_needs_no_caller_and_shows_callers_nothing(opened: Opened) -> None:
    with opened() as graph:
        graph.ingest(PAPERS[2:])
        assert uris(graph) == {"doc:none"}
        assert uris(graph.as_caller({"public"})) == set()


@pytest.mark.parametrize("groups", ["public", set(), {""}, {7}, [None], {"public": 1}, {"board;public"}])
def test_a_caller_that_is_no_set_of_groups_is_refused(papers: HLGraph, groups: Any) -> None:
    with pytest.raises(InputError, match="group"):
        papers.as_caller(groups)


def test_a_caller_may_do_nothing_else(papers: HLGraph) -> None:
    view = papers.as_caller({"public"})
    public = {name for name in dir(HLGraph) if not name.startswith("_")}
    for name in public - {
        "answer",
        "answer_stream",
        "close",
        "communities",
        "contradictions",
        "entities",
        "export_graph",
        "facts",
        "search",
        "sources",
    }:
        with pytest.raises(AccessError, match=f"{name} needs the right to operate"):
            getattr(view, name)

    with pytest.raises(AccessError, match="building communities needs the right to operate"):
        view.communities.build()
    with pytest.raises(AccessError, match="communities of entity_passage need the right to operate"):
        view.communities.find("entity_passage")

    async def ask() -> None:
        awaited = AsyncHLGraph(papers).as_caller({"public"})
        assert {piece.source.uri for piece in (await awaited.search("bridge")).evidence} == {"doc:open"}
        with pytest.raises(AccessError):
            await awaited.stats()
        with pytest.raises(AccessError):
            _ = awaited.groups

    asyncio.run(ask())


def test_a_field_that_only_hidden_sources_have_is_unknown_to_a_caller(papers: HLGraph) -> None:
    view = papers.as_caller({"public"})
    assert view.search("bridge", where="secret = 1").evidence == ()
    assert view.search("bridge", where="no_such_field = 1").evidence == ()  # an error would tell one from the other
    with pytest.raises(WhereError):
        papers.as_operator().search("bridge", where="no_such_field = 1")


@pytest.mark.parametrize(
    ("value", "seen"), [("finance;board", ()), (1.5, ()), ("", ()), ((), ()), (("a", 1.5), ("a",)), ("a", ("a",))]
)
def test_a_field_of_an_older_version_admits_whom_it_names_and_can_be_mended(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, value: Any, seen: tuple[str, ...]
) -> None:
    with opened() as graph:
        with monkeypatch.context() as older:
            for module in ("hlgraph.persist.compare", "hlgraph.read.content"):
                older.setattr(f"{module}.groups_of", lambda value: value)
            graph.ingest([replace(PAPERS[1], metadata={"acl": value}), PAPERS[0]])
        assert graph.groups.list() == {"public": 1} | (dict.fromkeys(seen, 1) or {"": 1})
        for name in ("finance", "board", "1.5", "a"):
            assert uris(graph.as_caller({name})) == ({"doc:cost"} if name in seen else set())
        assert graph.groups.set("staff", uris="doc:cost") == 1
        assert graph.groups.list() == {"public": 1, "staff": 1}


def test_groups_are_set_listed_and_cleared_without_extraction(papers: HLGraph) -> None:
    before = papers.stats()[0].records
    assert papers.groups.list() == {"": 1, "board": 1, "finance": 1, "public": 1}
    assert papers.groups.set("works; public", where="exists secret") == 1
    assert papers.groups.set(["public", "works"], uris="doc:cost") == 0  # as they are
    assert uris(papers.as_caller({"works"})) == {"doc:cost"}
    assert papers.groups.clear(uris=["doc:cost", "doc:open"]) == 2
    assert uris(papers.as_caller({"works", "public"})) == set()
    assert uris(papers) == {"doc:open", "doc:cost", "doc:none"}  # no source names a group any more
    assert papers.stats()[0].records == before
    for wrong, kind in (
        ({"uris": "doc:nowhere"}, UnknownNameError),
        ({"where": "nothing = 1"}, WhereError),
        ({}, InputError),
    ):
        with pytest.raises(kind):
            papers.groups.set("public", **wrong)
    for groups in ("", [], " ; "):
        with pytest.raises(InputError, match="names no group"):
            papers.groups.set(groups, uris="doc:open")


def test_an_ingest_that_is_silent_about_groups_keeps_them(papers: HLGraph) -> None:
    silent = [replace(document, metadata={}) for document in PAPERS[:2]]
    papers.ingest(silent)
    assert papers.groups.list() == {"": 1, "board": 1, "finance": 1, "public": 1}
    papers.ingest([replace(silent[0], text="Mara Quill left the Aldane Bridge.")])
    assert uris(papers.as_caller({"public"})) == {"doc:open"}
    papers.ingest(PAPERS, acl=["works", "night"])  # of those that name none
    assert papers.groups.list() == {"board": 1, "finance": 1, "night": 1, "public": 1, "works": 1}
    papers.groups.set("board", uris="doc:none")
    papers.ingest(PAPERS, acl="public")  # does not open what an operator closed
    assert papers.groups.list() == {"board": 2, "finance": 1, "public": 1}
    with pytest.raises(InputError, match="names no group"):
        papers.ingest(PAPERS, acl=[])


@pytest.mark.parametrize("is_edited", [True, False], ids=["edited", "same text"])
def test_a_writer_replaces_what_its_groups_see(papers: HLGraph, is_edited: bool) -> None:
    before = {paper.uri: papers.as_operator().sources.open(paper.uri).text for paper in PAPERS}
    edits = [replace(paper, text="Ours." if is_edited else paper.text, metadata={}) for paper in PAPERS]
    report = papers.ingest([*edits, replace(edits[0], uri="doc:new")], acl="public", seen_by=["public", "works"])
    assert [failure.uri for failure in report.failed] == ["doc:cost", "doc:none"]
    assert (report.sources_added, report.sources_changed + report.sources_unchanged) == (1, 1)
    after = {paper.uri: papers.as_operator().sources.open(paper.uri).text for paper in PAPERS}
    assert after == {**before, **({"doc:open": "Ours."} if is_edited else {})}
    with pytest.raises(InputError, match="delete_missing removes sources whatever their groups"):
        papers.ingest(edits, seen_by="public", delete_missing=True)
    with pytest.raises(InputError, match="names no group"):
        papers.ingest(edits, seen_by=[])


@pytest.mark.parametrize("groups", [(), "", " ; ", True, 1.5])
def test_a_document_whose_groups_cannot_be_read_is_refused_alone(opened: Opened, groups: Any) -> None:
    with opened() as graph:
        report = graph.ingest([*PAPERS, Document("doc:bad", "Petra Voss left.", metadata={"acl": groups})])
        assert [failure.uri for failure in report.failed] == ["doc:bad"]
        assert report.sources_added == 3


@pytest.mark.parametrize("groups", ["[]", "{read: [finance]}", "[[finance]]", "''", "true"])
def test_a_file_whose_groups_cannot_be_read_is_refused(opened: Opened, tmp_path: Path, groups: str) -> None:
    (tmp_path / "a.md").write_text(f"---\nacl: {groups}\n---\n\nMara Quill left.\n")
    (tmp_path / "b.md").write_text("---\nacl:\n---\n\nIvo Brandt left.\n")
    with opened() as graph:
        report = graph.ingest([tmp_path / "a.md", tmp_path / "b.md"])
        assert [Path(failure.uri).name for failure in report.failed] == ["a.md"]
        assert graph.groups.list() == {"": 1}


def test_groups_come_from_front_matter_and_columns(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nacl: [finance, board]\n---\n\nMara Quill left.\n")
    (tmp_path / "b.csv").write_text("id,text,acl\n1,Ivo Brandt left.,board; works\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "1", "text": "Petra Voss left.", "acl": ["public"]}) + "\n")
    with opened() as graph:
        graph.ingest([tmp_path / name for name in ("a.md", "b.csv", "c.jsonl")])
        assert graph.groups.list() == {"board": 2, "finance": 1, "public": 1, "works": 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "name,city,acl\nMara Quill,Aldane,{}\nIvo Brandt,Tessing,{}\n"),
        ("a.jsonl", '{{"name": "Mara Quill", "acl": {0!r}}}\n{{"name": "Ivo Brandt", "acl": {1!r}}}\n'),
        ("a.json", '[{{"name": "Mara Quill", "acl": [{0!r}]}}, {{"name": "Ivo Brandt", "acl": [{1!r}]}}]'),
    ],
)
def test_a_table_without_a_text_has_the_groups_that_all_its_rows_name(
    opened: Opened, tmp_path: Path, name: str, text: str
) -> None:
    file = tmp_path / name
    with opened() as graph:
        for others in ("board", ""):  # read as one source, the rows of others would be seen by public
            file.write_text(text.format("finance", others).replace("'", '"'))
            (failed,) = graph.ingest(file, acl="public").failed
            assert re.search("its rows name different groups as acl|acl names no group", failed.error)
            assert graph.groups.list() == {}
        file.write_text(text.format("finance;works", "finance;works").replace("'", '"'))
        assert not graph.ingest(file, acl="public").failed
        assert graph.groups.list() == {"finance": 1, "works": 1}


@pytest.mark.parametrize("made", [tables.xlsx, tables.ods])
def test_the_column_acl_of_a_sheet_names_the_groups_of_its_workbook(
    opened: Opened, tmp_path: Path, made: Callable[[tables.Description], bytes]
) -> None:
    file = tmp_path / f"wages.{made.__name__}"
    with opened() as graph:
        for others in ("public", ""):
            file.write_bytes(made(tables.Description("", ("name|wage|acl", "Ada|10|hr", f"Ben|11|{others}"))))
            (failed,) = graph.ingest(file, acl="public").failed
            assert "its rows name different groups as acl" in failed.error
        file.write_bytes(made(tables.Description("", ("name|wage|acl", "Ada|10|hr", "Ben|11|hr"))))
        assert not graph.ingest(file, acl="public").failed
        assert graph.groups.list() == {"hr": 1}


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("wage: 10\nacl: hr\n", ["hr"]),
        ('{"wage": 10, "acl": "hr"}', ["hr"]),
        ('{"wage": {"net": 10}, "acl": ["hr", "board"]}', ["board", "hr"]),
        ('{"acl": "hr", "rows": [{"name": "Ada", "wage": 10}, {"name": "Ben", "wage": 11}]}', ["hr"]),
        ('{"acl": "hr", "rows": [{"text": "Ada has 10."}, {"text": "Ben has 11.", "acl": "board"}]}', ["board", "hr"]),
        ('{"wage": 10, "acl": {"is": "hr"}}', None),
    ],
)
def test_an_object_names_the_groups_of_what_is_made_of_it(
    opened: Opened, tmp_path: Path, text: str, groups: list[str] | None
) -> None:
    file = tmp_path / ("wages.json" if text.startswith("{") else "wages.yaml")
    file.write_text(text)
    with opened() as graph:
        report = graph.ingest(file, acl="public")
        assert bool(report.failed) is (groups is None)
        assert sorted(graph.groups.list()) == (groups or [])


@pytest.mark.parametrize(
    ("name", "text", "groups"),
    [
        ("wages.json", """{"x": [{"n": 1, "m": 2, "acl": "hr"}, {"n": 2, "m": 3, "acl": "hr"}],
                           "y": [{"k": 1, "m": 2}, {"k": 2, "m": 3}]}""", ["hr"]),
        ("wages.json", """{"x": [{"n": 1, "m": 2, "acl": "hr"}, {"n": 2, "m": 3, "acl": "hr"}],
                           "y": [{"k": 1, "acl": "board"}, {"k": 2, "acl": "hr"}]}""", None),
        ("wages.json", """{"x": [{"n": 1, "acl": "hr"}, {"n": 2, "acl": "hr"}],
                           "y": [{"k": 1, "m": 2}, {"k": 2, "acl": {"is": "hr"}}]}""", None),
        ("wages.json", """[{"user": "U1", "ts": "1.2", "text": "Ten.", "acl": "hr"},
                           {"user": "U2", "ts": "1.3", "text": "So.", "acl": "hr"}]""", ["hr"]),
        ("wages.json", """[{"user": "U1", "ts": "1.2", "text": "Ten.", "acl": "hr"},
                           {"user": "U2", "ts": "1.3", "text": "So."}]""", None),
        ("wages.json", """{"acl": "hr", "messages": [{"from": "Ann", "date": "2024-01-01T10:00:00", "text": "Ten."},
                                                     {"from": "Bo", "date": "2024-01-01T10:01:00", "text": "So."}]}""", ["hr"]),
        ("wages.json", """[{"acl": "hr", "name": "wages", "chat_messages":
                           [{"sender": "human", "text": "Ten.", "created_at": "2024-01-01T00:00:00"}]}]""", ["hr"]),
        ("wages.yaml", "x: [{n: 1, acl: hr}, {n: 2, acl: hr}]\ny: [{k: 1, m: 2}, {k: 2, m: 3}]\n", ["hr"]),
        ("wages.yaml", "x: [{n: 1, acl: hr}, {n: 2, acl: board}]\ny: [{k: 1, m: 2}, {k: 2, m: 3}]\n", None),
        ("wages.jsonl", '{"name": "Ada", "acl": []}', None),
        ("wages.jsonl", '{"name": "Ada", "acl": [["hr"]]}', None),
        ("wages.jsonl", '{"name": "Ada", "acl": 1.5}', None),
        ("wages.jsonl", '{"name": "Ada", "acl": ["hr", "board"]}\n{"name": "Ben", "acl": "board;hr"}', ["board", "hr"]),
        ("wages.csv", "name,acl,acl\nAda,hr,board\n", None),
        ("wages.xml", "<wages><acl>hr</acl><name>Ada</name></wages>", ["hr"]),
        ("wages.xml", "<wages acl='hr'><name>Ada</name></wages>", ["hr"]),
        ("wages.xml", "<all><wages><acl><group>hr</group><group>board</group></acl><text>Ten.</text></wages></all>", None),
        ("wages.geojson", """{"type": "FeatureCollection", "acl": "hr", "features": [{"type": "Feature",
                             "properties": {"name": "Weir"}, "geometry": null}]}""", ["hr"]),
        ("wages.geojson", """{"type": "FeatureCollection", "features": [{"type": "Feature",
                             "properties": {"name": "Weir", "acl": "hr"}, "geometry": null}]}""", ["hr"]),
        ("wages.md", "---\nacl: !!set {hr, board}\n---\nAda has 10.\n", None),
        ("wages.md", "\n\n---\nacl: hr\n---\nAda has 10.\n", ["hr"]),
        ("wages.md", "+++\nacl = ['hr', 'board']\n+++\nAda has 10.\n", ["board", "hr"]),
        ("wages.md", "+++\nacl =\n+++\nAda has 10.\n", None),
    ],
)  # fmt: skip
def test_groups_are_read_wherever_a_source_names_them(
    opened: Opened, tmp_path: Path, name: str, text: str, groups: list[str] | None
) -> None:
    (tmp_path / name).write_text(text)
    with opened() as graph:
        report = graph.ingest(tmp_path / name, acl="public")
        assert bool(report.failed) is (groups is None)
        assert sorted(graph.groups.list()) == (groups or [])


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        (["name|acl", "Ada|hr", "Ben|hr"], ["hr"]),  # two columns, which are read as names and values
        (["name|acl", "Ada|hr", "Ben|"], None),
        (["Wages|2024|May", "name|acl|wage", "Ada|hr|10", "Ben|hr|11"], ["hr"]),
        (["Wages|2024|May", "name|acl|wage", "Ada|hr|10", "Ben|board|11"], None),
        (["name|acl|wage", "Ada|hr|10", "||", "Ben|board|11"], None),  # the table goes on below a blank row
        (["name|acl|wage", "Ada|hr|10", "||", "Ben|hr|11"], ["hr"]),
        (["name|acl|wage", "Ada|hr|10", "||", "town|size|river", "Aldane|7|Or"], ["hr"]),
        (["name|acl|acl", "Ada|hr|board"], None),
    ],
)
@pytest.mark.parametrize("made", [tables.xlsx, tables.ods])
def test_a_cell_acl_above_the_rows_of_a_sheet_is_the_label_of_their_groups(
    opened: Opened,
    tmp_path: Path,
    made: Callable[[tables.Description], bytes],
    rows: list[str],
    groups: list[str] | None,
) -> None:
    file = tmp_path / f"wages.{made.__name__}"
    file.write_bytes(made(tables.Description("", tuple(rows))))
    with opened() as graph:
        report = graph.ingest(file, acl="public")
        assert bool(report.failed) is (groups is None), graph.groups.list()
        assert sorted(graph.groups.list()) == (groups or [])


@pytest.mark.parametrize("kind", ["string", "binary", "large_binary"])
def test_binary_groups_are_refused(opened: Opened, tmp_path: Path, kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"id": ["1"], "name": ["Ada"], "text": ["Ada has 10."], "acl": pa.array(["hr"]).cast(kind)})
    pyarrow.parquet.write_table(table, tmp_path / "wages.parquet")
    with opened() as graph:
        reports = [graph.ingest(given) for given in (tmp_path / "wages.parquet", table, table.to_pylist())]
        reports.append(graph.ingest(tmp_path / "wages.parquet", rows={"name": "name"}))
        assert [bool(report.failed) for report in reports] == [kind != "string"] * 4
        assert list(graph.groups.list()) == (["hr"] if kind == "string" else [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wages.md", "---\nACL: hr\n---\nAda has 10.\n"),
        ("wages.md", "---\naccess:\n  acl: hr\n---\nAda has 10.\n"),
        ("wages.md", "|name|acl|\n|---|---|\n|Ada|hr|\n"),
        ("wages.csv", "name,ACL\nAda,hr\nBen,hr\n"),
        ("wages.json", '{"wages": {"acl": "hr", "net": 10}}'),
        (
            "wages.html",
            "<p>The wages of all people.</p><table><tr><th>name<th>acl<tr><td>Ada<td>hr<tr><td>Ben<td>hr</table>",
        ),
    ],
)
def test_what_looks_like_groups_but_names_none_is_warned_of(
    opened: Opened, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "plain.md").write_text("The oracle of Aldane.\n\n| name | tracle |\n| --- | --- |\n| Ada | miracle |\n")
    with opened() as graph:
        report = graph.ingest(tmp_path / name)
        assert [warning.error for warning in report.warnings if "names no groups" in warning.error], report.warnings
        assert not graph.ingest(tmp_path / "plain.md").warnings


def test_a_file_that_becomes_several_sources_keeps_its_groups(opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "wages.csv"
    with opened() as graph:
        file.write_text("name,wage\nAda Lund,10\n")
        graph.ingest(file, acl="public")
        graph.groups.set("hr", uris=str(file))
        file.write_text("name,wage\n" + "Ada Lund,10\n" * 1_001)  # two tables: #rows-1 and #rows-1001
        assert not graph.ingest(file, acl="public").failed
        assert graph.groups.list() == {"hr": 3}
        assert not graph.as_caller(["public"]).search("Ada Lund").evidence


def test_groups_that_a_mapping_names_are_those_of_each_row(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,team\nMara Quill,finance\n")
    with opened() as graph:
        assert not graph.ingest(tmp_path / "a.csv", mapping={"metadata.acl": "team"}, acl="public").failed
        assert graph.groups.list() == {"finance": 1}


def test_the_commands_ask_as_a_caller_or_as_an_operator(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Mara Quill designed the Aldane Bridge.\n")
    store = ["--store", f"hlgraph://{tmp_path}/store"]
    assert call(*store, "ingest", str(tmp_path / "docs"), "--acl", "public", "--acl", "works").code == 0
    question = "Who designed the Aldane Bridge?"
    for caller, code, said in (
        ([], 2, "a caller must be named"),
        (["--as", "works"], 0, "designed the Aldane Bridge"),
        (["--as", "night"], 0, "no evidence"),
        (["--as-operator"], 0, "designed the Aldane Bridge"),
        (["--as", "works", "--as-operator"], 2, "only one of them"),
    ):
        result = call(*store, "search", question, *caller)
        assert (result.code, said in result.out + result.err) == (code, True), caller
    assert "[1]" in call(*store, "answer", question, "--as", "works").out
    assert call(*store, "groups", "set", "night", "--uri", str(tmp_path / "docs")).code == 0
    assert "1 sources: night" in call(*store, "groups", "list").out
    assert "no evidence" in call(*store, "search", question, "--as", "works").out


def test_a_change_of_1_000_sources_is_one_change_without_extraction(opened: Opened) -> None:
    with opened() as graph:
        graph.ingest([Document(f"doc:{number}", f"Number {number} left.") for number in range(1_000)])
        version = graph.stats()[0].version
        assert graph.groups.set("public", where="source_id != ''") == 1_000
        assert graph.stats()[0].version == version + 1


def test_the_communities_of_a_caller_follow_the_corpus_and_its_groups(tmp_path: Path) -> None:
    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=WordEmbedder()) as graph:
        view = graph.as_caller({"board"})

        def seen() -> set[str]:
            return {node.entity.name for node in view.communities.map().nodes}

        graph.ingest([Document("doc:1", "Mara Quill designed the Aldane Bridge.", metadata={"acl": "board"})])
        assert seen() == {"Mara Quill", "Aldane Bridge"}
        graph.ingest([Document("doc:2", "Ivo Brandt met Petra Voss.", metadata={"acl": "board"})])
        assert seen() == {"Mara Quill", "Aldane Bridge", "Ivo Brandt", "Petra Voss"}
        graph.groups.set("other", uris=["doc:1"])
        assert seen() == {"Ivo Brandt", "Petra Voss"}
        graph.delete("doc:2")
        assert (view.communities.find().total, view.communities.map().node_total) == (0, 0)


@pytest.mark.parametrize("seed", range(cases(1, 40)))
def test_nothing_leaks(opened: Opened, seed: int) -> None:
    history = History.of(seed)
    with opened() as graph:
        moments = history.run(graph)
        modes = MODES[seed % 3 :: cases(3, 1)]
        assert list(leaks(graph, history, opened=opened, calls=every_call(modes=modes, seed=seed))) == []
        asked = sorted(set(STRATEGIES) - {"hierarchy"})[seed % 4 :: cases(4, 1)]
        calls = [*every_call(strategies=asked, modes=("vector",), seed=seed), *contradictions()]
        assert list(past_leaks(graph, history, opened=opened, moments=moments, calls=calls)) == []


class CommandView(NamedTuple):
    """A caller of the leakage kit who asks by commands."""

    store: str
    groups: frozenset[str]

    def asked(self, *arguments: object) -> str:
        """What a command says."""
        named = [word for group in sorted(self.groups) for word in ("--as", group)]
        done = call("--store", self.store, *arguments, *named, "--json")
        text = re.sub(r'"(valid_from|valid_to|version|seconds|bytes)": [^,}]+', "", done.out)
        return f"{done.code} {text} {done.err}".replace(self.store, "")


@dataclass(frozen=True)
class CommandGraph:
    """An operator of the leakage kit, whose callers ask by commands."""

    graph: HLGraph

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)

    def as_caller(self, groups: frozenset[str]) -> CommandView:
        return CommandView(self.graph.settings.store, groups)


def commands(history: History, folder: Path) -> Iterator[Call]:
    """Commands that need no model, each with a filter of the kit."""
    opened = [*sorted(history.groups)[::2], "Mara Quill", "HALFMOON BRIDGE", ASKED, "nothing"]
    asked: list[list[object]] = [["show", name] for name in opened]
    asked += [[name, "--limit", 3, *only] for name in ("sources", "entities", "facts") for only in ONLY]
    asked += [["export", folder / "graph", "--format", form, *only] for form, only in zip(FORMS, ONLY, strict=True)]
    for arguments in asked:

        def run(view: CommandView, as_of: object, arguments: Any = arguments) -> dict[str, object]:
            said = view.asked(*arguments)
            return {"said": said, "file": (folder / "graph").read_text() if arguments[0] == "export" else ""}

        yield Call(" ".join(map(str, arguments)), run)


FORMS = ("graphml", "jsonld", "gexf")
ONLY: list[list[object]] = [["--where", FILTERS[2]], [], ["--where", "no_such_field = 1"]]


def test_nothing_leaks_by_commands(opened: Opened, tmp_path: Path) -> None:
    @contextmanager
    def by_commands() -> Iterator[Any]:
        with opened() as graph:
            yield CommandGraph(graph)

    history = History.of(2)
    with by_commands() as graph:
        history.run(graph.graph)
        assert list(leaks(graph, history, opened=by_commands, calls=list(commands(history, tmp_path)))) == []
    listed = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {name for name, one in listed.items() if any("--as" in option.opts for option in one.params)} == {
        *("answer", "contradictions", "mcp", "search"),  # they need a model, a history, or a client
        *("entities", "export", "facts", "show", "sources"),
    }


def watched(folder: Path, states: Sequence[Mapping[int, tuple[str, str]]]) -> History:
    """A history of rows of a file, each with its text and its group: every state is taken up by a watch."""
    path, events = folder / "papers.jsonl", dict[str, Iterator[WatchEvent]]()
    history = History(groups={f"file://{path}#{number}": (row[1],) for each in states for number, row in each.items()})

    def step(graph: HLGraph, admits: Callable[[str], bool], state: Mapping[int, tuple[str, str]]) -> None:
        rows = [
            json.dumps({"id": str(number), "text": f"{text} Word{number}.", "acl": [group]})
            for number, (text, group) in state.items()
            if admits(f"file://{path}#{number}")
        ]
        before = path.read_text() if graph.settings.store in events else None
        path.write_text("\n".join([*rows, ""]))
        if graph.settings.store not in events:
            events[graph.settings.store] = watch(graph, folder, options=IngestOptions(), debounce=0.05)
        if path.read_text() != before:
            next(events[graph.settings.store])

    history.steps += [functools.partial(step, state=state) for state in states]
    return history


def test_nothing_leaks_by_a_watched_folder(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    states: list[dict[int, tuple[str, str]]] = [
        {
            1: ("Mara Quill left", "public"),
            2: ("Ivo Brandt paid Mara Quill, who left", "board"),
            4: ("A mill", "works"),
        },
        {
            1: ("Mara Quill sold", "public"),
            2: ("Ivo Brandt left MARA QUILL, who left", "finance"),
            5: ("Ivo left", "board"),
        },
        {1: ("Mara Quill sold", "board"), 5: ("Ivo Brandt sold", "public")},
    ]
    history = watched(tmp_path / "docs", states)
    with opened() as graph:
        moments = history.replay(graph, lambda _: True)
        calls = [*listings(), *itertools.islice(questions(strategies=("statement",), modes=("text",)), 3)]
        assert list(past_leaks(graph, history, opened=opened, moments=moments, calls=calls)) == []
        assert graph.groups.list() == {"board": 1, "public": 1}


def test_the_kit_fails_for_a_call_that_it_does_not_cover(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as graph:
        view = graph.as_caller({"public"})
        (refused,) = refusals()
        assert "right to operate" in str(refused.run(view, None))
        monkeypatch.setattr(type(view), "stats", HLGraph.stats)
        with pytest.raises(AssertionError, match="callers may use stats"):
            refused.run(view, None)


@pytest.mark.parametrize("seed", range(cases(1, 10)))
def test_nothing_leaks_where_thresholds_are_fitted(opened: Opened, seed: int) -> None:
    history = History.of(seed, names=150)
    with opened() as graph:
        history.run(graph)
        assert graph.stats()[0].calibration is not None
        assert list(_seen_by_the_kit(graph, history, opened, large=True)) == []


def _seen_by_the_kit(
    graph: HLGraph, history: History, opened: Opened, *, large: bool = False, seed: int = 0
) -> Iterator[Leak]:
    strategies = ("topic_graph",) if large else ("diameter", "path")
    calls = every_call(strategies=strategies, modes=("vector", "text"), seed=seed)
    return leaks(graph, history, opened=opened, calls=calls)


def _unscoped(name: str) -> Callable[..., Any]:
    """A read of the graph store that forgets the filter."""
    read = getattr(EmbeddedGraphStore, name)
    return lambda self, *args, scope: read(self, *args, scope=replace(scope, where=None))


def _unscoped_page(store: EmbeddedGraphStore, kind: Kind, scope: Scope, **options: Any) -> IdPage:
    return _page(store, kind, replace(scope, where=None), **options)


_page = EmbeddedGraphStore.page
_query, _read_tables = SESSION._query, TableReader.__init__
DROPPED: dict[str, tuple[Any, str, Any]] = {
    "the filter of the caller": (Caller, "narrowed", lambda self, where: where),
    "the scope of a pull": (EmbeddedGraphStore, "pull", _unscoped("pull")),
    "the scope of a ranking": (EmbeddedGraphStore, "rank", _unscoped("rank")),
    "the filter of a search": (
        SESSION,
        "_query",
        lambda session, search: replace(_query(session, search), where=None),
    ),
    "the entities in sight": (SESSION, "_query", lambda session, search: replace(_query(session, search), among=None)),
    "the words that are counted": (
        SESSION,
        "_query",
        lambda session, search: replace(_query(session, search), is_alone=False),
    ),
    "the names of entities": (EmbeddedGraphStore, "records", _unscoped("records")),
    "the merges in sight": (
        Session,
        "_aliases",
        lambda self: self._stores.graph.merges.aliases(self.request.corpus, version=self._corpus.version),
    ),
    "the rows of a table": (
        TableReader,
        "__init__",
        lambda self, graph, corpus, **_: _read_tables(self, graph, corpus),
    ),
    "the version": (SearchRequest, "is_alone", property(lambda self: False)),
    "the queries of an explanation": (
        SEARCH,
        "_explained",
        lambda session, ranked, result: replace(result, explain=replace(result.explain, calls=trace.heard())),
    ),
    "the scope of a match": (EmbeddedGraphStore, "match", _unscoped("match")),
    "the published thresholds": (SEARCH, "_seen", lambda corpus, request: replace(corpus, fields={ACL: frozenset()})),
    "the versions of the corpus": (SEARCH, "shown", lambda source: source),
    "the scope of a page": (EmbeddedGraphStore, "page", _unscoped_page),
    "the scope of the parts of an export": (
        GRAPH_FILES,
        "Scope",
        lambda name, **rest: Scope(name, state=rest["state"]),
    ),
}
LARGE = {"the scope of a match", "the published thresholds"}
PAST = {"the versions of the corpus"}
LISTED = {"the scope of a page", "the scope of the parts of an export"}


@pytest.mark.parametrize("what", DROPPED)
def test_the_kit_sees_what_is_dropped(opened: Opened, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(*DROPPED[what])
    for seed in (4, 0, 1):
        history = History.of(seed, names=150 if what in LARGE else 0)
        with opened() as graph:
            moments = history.run(graph)
            try:
                if what in PAST:
                    calls = [*questions(strategies=("statement",), modes=("vector",))]
                    seen = past_leaks(graph, history, opened=opened, moments=moments, calls=calls)
                elif what in LISTED:
                    seen = leaks(graph, history, opened=opened, calls=[*exports(seed), *listings()])
                else:
                    seen = _seen_by_the_kit(graph, history, opened, large=what in LARGE, seed=seed)
                if next(seen, None):
                    return
            except IndexError:  # a search stumbles over what it finds and may not pull
                assert what == "the filter of a search"
                return
    pytest.fail("nothing was seen")


def test_an_entity_has_the_names_of_its_mentions_in_a_scope(papers: HLGraph) -> None:
    graph = papers.ingestion.opened.stores.graph
    names = {}
    for groups in ({"public"}, {"finance"}):
        scope = SESSION.Scope("default", Caller.of(groups).narrowed(None))
        names[min(groups)] = {entity.name for entity in graph.records(Kind.ENTITY, graph.entities(scope), scope=scope)}
    assert "Mara Quill" in names["public"]
    assert "MARA QUILL" in names["finance"]
    assert not names["public"] & {"MARA QUILL", "Ivo Brandt", "Petra Voss"}


def test_a_hidden_name_joins_no_names_in_sight(opened: Opened) -> None:
    said = [
        Document("doc:1", "Mara Quill left Tessing.", metadata={"acl": "public"}),
        Document("doc:2", "Petra Voss sold Gannow. Ivo Brandt visited Gannow.", metadata={"acl": "public"}),
        Document("doc:3", "Orsel Works paid Mara Quill.", metadata={"acl": "board"}),
    ]

    def found(graph: HLGraph) -> list[tuple[str, float]]:
        pieces = graph.as_caller({"public"}).search("What did Mara Quill sell?", strategy="path").evidence
        return [(piece.text, piece.score) for piece in pieces]

    with opened() as graph:
        graph.ingest(said)
        before = found(graph)
        decisions = [
            Decision(graph.corpus, *(entity_id(graph.corpus, name) for name in names), Verdict.SAME, Decider.PERSON)
            for names in (("Mara Quill", "Orsel Works"), ("Orsel Works", "Petra Voss"))
        ]
        stores = graph.ingestion.opened.stores
        assert stores.graph.merges is not None
        with stores.graph.lock(graph.corpus):
            stores.graph.merges.save(graph.corpus, decisions)
        assert found(graph) == before


def test_the_steps_do_not_count_summaries_out_of_sight(opened: Opened) -> None:
    said = [Document(f"doc:{at}", f"# A\n\nMara Quill left Tessing {at}.", metadata={"acl": "public"}) for at in (1, 2)]
    hidden = [Document(f"doc:h{at}", f"# B\n\nOrsel Works paid Ivo Brandt {at}.") for at in range(9)]
    steps = []
    for sources in (said, said + hidden):
        with opened() as graph:
            graph.ingest(sources)
            graph.hierarchy.build()
            graph.ingest(hidden[:1])  # and it is stale
            view = graph.as_caller({"public"})
            explain = view.search("Who left Tessing?", strategy="hierarchy", explain=True).explain
            steps.append(([(step.name, step.count, step.details) for step in explain.steps], explain.round_trips))
    assert steps[0] == steps[1]
    assert steps[0][0]


def test_plans_and_questions_see_every_source(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_CHAT", "openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    said = [Document(f"doc:{at}", f"Mara Quill mended the mill {at}.", "The mill") for at in range(1901, 1905)]
    with opened() as graph:
        graph.ingest(said, acl="public")
        assert graph.answers.plan(AnswerRequest(question="Who mended the mill?")).statements > 0
        assert graph.questions.plan(1, kinds=["null"])[0].calls > 0


@dataclass(frozen=True)
class Listed:
    """A retriever of one's own, which knows the ids of hidden statements."""

    ids: tuple[str, ...]
    unit: ClassVar[Unit] = "statement"

    def rank(self, session: Session, k: int) -> Ranked:
        hits = [Hit(item, 1.0) for item in self.ids]
        session.note_seeds(Kind.STATEMENT, hits)
        return Ranked(Kind.STATEMENT, hits, {})


def test_a_retriever_of_ones_own_reads_nothing_out_of_sight(papers: HLGraph) -> None:
    store = papers.ingestion.opened.stores.graph
    ids = tuple(record.id for record in store.find(Kind.STATEMENT, SESSION.Scope("default")))
    result = papers.as_caller({"public"}).search("Who?", strategy=Listed(ids), explain=True)
    assert [piece.source.uri for piece in result.evidence] == ["doc:open"]
    assert "million" not in result.explain.to_text() + result.explain.to_html()
