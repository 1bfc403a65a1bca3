"""``hlgraph cypher`` and ``HLGraph.cypher`` on the live server: names, limits, formats, and that nothing can be written."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pytest
from command_line import Done
from live_stores import neo4j_of
from neo4j_graphs import MillGraph

import hlgraph
from hlgraph.errors import InputError, StoreUnavailableError, UnknownNameError
from hlgraph.ids import entity_id, fact_id, source_id
from hlgraph.sdk import cypher as analyst
from hlgraph.settings import Settings
from hlgraph.stores.neo4j.graph import Neo4jGraphStore
from hlgraph.stores.queries import Limits, Query, Table
from hlgraph.testing.embedder import WordEmbedder

_SAMPLES = Path(__file__).parents[2] / "hlgraph" / "samples"


_ODD = 'The "Old" C\\D crossing: +x (y) ~ z*'


@pytest.fixture(autouse=True)
def _environment(mill: MillGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server and the corpus, as a user sets them; no vectors: queries need none."""
    neo4j = mill.settings.neo4j
    monkeypatch.setenv("HLGRAPH_STORE", mill.settings.store)
    monkeypatch.setenv("HLGRAPH_CORPUS", mill.corpus)
    monkeypatch.setenv("HLGRAPH_NEO4J_USER", neo4j.user)
    monkeypatch.setenv("HLGRAPH_NEO4J_PASSWORD", neo4j.password)
    monkeypatch.setenv("HLGRAPH_NEO4J_DATABASE", neo4j.database)
    for name in ("HLGRAPH_VECTORS", "HLGRAPH_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def call(*arguments: object) -> Done:
    """Run ``hlgraph cypher`` in this process."""
    return command_line.call("cypher", *arguments)


def written(folder: Path, name: str, body: str, *, params: str = "-", columns: str = "one", lines: str = "") -> Path:
    """A query of a user's own."""
    folder.mkdir(exist_ok=True)
    text = f"// A query.\n// params: {params}\n// columns: {columns}\n{lines}{body}\n"
    (folder / f"{name}.cypher").write_text(text, encoding="utf-8")
    return folder


def run_text(mill: MillGraph, text: str, *columns: str, limits: Limits | None = None) -> Table:
    """What a query without parameters gives."""
    query = Query("own/query", text, frozenset(), columns, "")
    return analyst.run(query, {}, graph=Neo4jGraphStore(mill.server), corpus=mill.corpus, limits=limits)


# The SDK


def test_a_graph_runs_a_query_by_name(mill: MillGraph) -> None:
    with hlgraph.connect(mill.settings) as graph:
        found = graph.cypher("what_connects", source="hanna voss", target="Piet Marn")
        other = graph.in_corpus("nowhere")
        with pytest.raises(UnknownNameError, match=r"no corpus 'nowhere'; .*or name another$"):
            other.cypher("rank_entities")
        assert other.cypher("rank_entities", corpus=mill.corpus, k=1).rows
    assert found.columns == ("step", "start", "end", "facts", "chunks", "statement")
    assert [(row["start"], row["end"]) for row in found.rows] == [
        ("Hanna Voss", "Orle Mill"),
        ("Orle Mill", "Piet Marn"),
    ]
    assert not found.is_cut
    assert found.milliseconds > 0
    assert found.params == {
        "corpus": mill.corpus,
        "source": entity_id(mill.corpus, "Hanna Voss"),
        "target": entity_id(mill.corpus, "Piet Marn"),
        "hops": 4,
        "where": "",
        "kinds": "",
    }


def test_a_result_has_a_length_and_becomes_tables(mill: MillGraph) -> None:
    with hlgraph.connect(mill.settings) as graph:
        found = graph.cypher("rank_entities", k=np.int64(2))
        facts = graph.cypher("list_neighbours", entity="Orle Mill")
        nothing = graph.cypher("rank_entities", where="title = 'nowhere'")
        cut = graph.cypher("rank_entities", limits=Limits(max_rows=1))
    assert len(found) == 2
    assert [row["name"] for row in found] == [found[0]["name"], found[1]["name"]]
    assert (
        list(found.to_pandas()["name"]) == found.to_arrow()["name"].to_pylist() == [row["name"] for row in found.rows]
    )
    assert facts.to_pandas()["facts"].map(len).sum() == sum(len(row["facts"]) for row in facts)  # type: ignore[arg-type]
    assert "<th>degree</th>" in found._repr_html_()
    assert str(found).splitlines()[0].split() == list(found.columns)
    assert not nothing
    assert tuple(nothing.to_pandas().columns) == tuple(nothing.to_arrow().column_names) == found.columns
    assert str(cut).endswith("1 row, and there are more: raise max_rows")


def test_a_parameter_may_have_the_name_of_an_argument(mill: MillGraph) -> None:
    with hlgraph.connect(mill.settings) as graph:
        assert [row["name"] for row in graph.cypher("find_entities", name="sorrel").rows] == ["Sorrel"]


def test_the_embedded_store_says_that_it_has_no_cypher(tmp_path: Path) -> None:
    with (
        hlgraph.connect(f"hlgraph://{tmp_path}/s") as graph,
        pytest.raises(InputError, match="the embedded store has no Cypher; ingest into a Neo4j server"),
    ):
        graph.cypher("rank_entities")
    assert not (tmp_path / "s").exists()


# Limits


def test_rows_are_cut_and_that_is_said(mill: MillGraph) -> None:
    numbers = "UNWIND range(1, 5000) AS one RETURN one"
    whole = run_text(mill, numbers, "one", limits=Limits(max_rows=5000))
    assert ([row["one"] for row in whole.rows], whole.is_cut) == (list(range(1, 5001)), False)
    part = run_text(mill, numbers, "one", limits=Limits(max_rows=4999))
    assert (len(part.rows), part.is_cut) == (4999, True)
    assert len(run_text(mill, numbers, "one").rows) == 1000


def test_a_query_that_takes_too_long_is_ended_by_the_server(mill: MillGraph) -> None:
    endless = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(a + b) AS one"
    with pytest.raises(StoreUnavailableError, match=r"took longer than 0\.5 s; .*--timeout"):
        run_text(mill, endless, "one", limits=Limits(timeout=0.5))


@pytest.mark.parametrize(
    "limits", [{"timeout": 0}, {"timeout": float("nan")}, {"timeout": 1e9}, {"max_rows": 0}], ids=str
)
def test_limits_are_checked(limits: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="; choose"):
        Limits(**limits)


# Reading only


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE (:Intruder) RETURN 1 AS one",
        "MATCH (e:Entity) DETACH DELETE e RETURN 1 AS one",
        "MERGE (:Intruder) RETURN 1 AS one",
        "UNWIND [1] AS one CALL (one) { CREATE (:Intruder) } IN TRANSACTIONS OF 1 ROWS RETURN one",
        "CREATE INDEX intruder IF NOT EXISTS FOR (n:Intruder) ON (n.x)",
        "DROP CONSTRAINT hlgraph_entity_id",
        "CALL db.createLabel('Intruder')",
        "CREATE USER intruder SET PASSWORD 'intruder-intruder'",
        "ALTER CURRENT USER SET PASSWORD FROM 'x' TO 'intruder-intruder'",
    ],
    ids=lambda text: " ".join(text.split()[:2]),
)
def test_the_server_refuses_to_write(mill: MillGraph, statement: str) -> None:
    with pytest.raises(InputError, match=r"own/query writes \(.*read access mode.*queries here may only read"):
        run_text(mill, statement, "one")
    (row,) = run_text(mill, "MATCH (n:Intruder) RETURN count(n) AS one", "one").rows
    assert row == {"one": 0}
    names = run_text(mill, "SHOW CONSTRAINTS YIELD name WHERE name = 'hlgraph_entity_id' RETURN name AS one", "one")
    assert len(names.rows) == 1


def test_a_query_of_ones_own_that_writes_is_bad_input(tmp_path: Path) -> None:
    folder = written(tmp_path / "mine", "add_intruder", "CREATE (:Intruder) RETURN 1 AS one")
    done = call("run", "add_intruder", "--folder", folder, "--json")
    assert (done.code, done.out) == (2, "")
    assert json.loads(done.err)["error"]["type"] == "InputError"


@pytest.mark.parametrize(
    "statement", ["RETURN", "RETURN 1 / 0 AS one", "CALL no.such() YIELD x RETURN x AS one", "RETURN $x AS one"]
)
def test_what_the_server_cannot_run_is_said(mill: MillGraph, statement: str) -> None:
    with pytest.raises(InputError, match="own/query: the server cannot run it"):
        run_text(mill, statement, "one")


# Names


def test_entities_are_found_by_id_name_and_alias(mill: MillGraph) -> None:
    voss = entity_id(mill.corpus, "Hanna Voss")
    alias = "MATCH (e:Entity {id: $id}) SET e.aliases = e.aliases + $name"
    with mill.server.driver().session(database=mill.settings.neo4j.database) as session:
        session.run(alias, {"id": voss, "name": "The Builder of Orle"}).consume()
        for given in (voss, "Hanna Voss", "  “HANNA  voss” ", "the builder of orle"):
            assert _sent(mill, entity=given) == voss
        session.run(alias, {"id": entity_id(mill.corpus, "Lund"), "name": "The Builder of Orle"}).consume()
        with pytest.raises(InputError, match=rf"names several entities .*Hanna Voss \({voss}\).*give the id of one"):
            _sent(mill, entity="The Builder of Orle")


def _sent(mill: MillGraph, **params: object) -> object:
    name = "list_facts" if "entity" in params else "find_bridges"
    table = analyst.run(analyst.load(name), params, graph=Neo4jGraphStore(mill.server), corpus=mill.corpus)
    return table.params["entity" if "entity" in params else "first"]


def test_an_unknown_name_is_answered_with_near_ones(mill: MillGraph) -> None:
    with pytest.raises(UnknownNameError, match=r"no entity 'Hana Vos' .*did you mean Hanna Voss"):
        _sent(mill, entity="Hana Vos")
    with pytest.raises(UnknownNameError, match=r"no entity 'Zzyzx' .*run: hlgraph cypher run find_entities"):
        _sent(mill, entity="Zzyzx")


@pytest.mark.parametrize(
    "name",
    ['"', "\\", "a AND (b", "NOT", "x:y^2~ [a TO b}", "/re/", "*", "🜁", "\x00", "a " * 5000, "OR " * 50],
    ids=ascii,
)
def test_no_name_breaks_the_search(mill: MillGraph, name: str) -> None:
    with pytest.raises(UnknownNameError, match="there is no entity"):
        _sent(mill, entity=name)


def test_sources_are_found_by_id_uri_title_and_the_end_of_the_uri(mill: MillGraph) -> None:
    horse = source_id(mill.corpus, "doc:Horse")
    for given in (horse, "doc:Horse", "horse", "DOC:horse"):
        assert _sent(mill, first=given, second="Blank") == horse
    with mill.server.driver().session(database=mill.settings.neo4j.database) as session:
        moved = "MATCH (d:Source {id: $id}) SET d.uri = $uri"
        session.run(moved, {"id": horse, "uri": "file:///a/stable.md"}).consume()
        assert _sent(mill, first="stable.md", second="Blank") == horse
        blank = source_id(mill.corpus, "doc:Blank")
        session.run(moved, {"id": blank, "uri": "file:///b/stable.md"}).consume()
        with pytest.raises(InputError, match=r"'stable.md' names 2 sources: .*give the id of one"):
            _sent(mill, first="stable.md", second="Gazette")
        session.run(moved, {"id": horse, "uri": "doc:Horse"}).consume()
        session.run(moved, {"id": blank, "uri": "doc:Blank"}).consume()
    with pytest.raises(
        UnknownNameError, match=r"has the title, uri or id 'gone'; run: hlgraph cypher run list_sources"
    ):
        _sent(mill, first="gone", second="Blank")


# Values


@pytest.mark.parametrize(
    ("value", "found", "shown"),
    [
        ("null", None, ""),
        ("true", True, "true"),
        ("0.30000000000000004", 0.30000000000000004, "0.3"),
        ("1.0 / 0.0", "inf", "inf"),
        ("date('2024-03-05')", "2024-03-05", "2024-03-05"),
        ("datetime('2024-03-05T06:07:08.25Z')", "2024-03-05T06:07:08.25+00:00", "2024-03-05T06:07:08.25+00:00"),
        ("localtime('06:07:08')", "06:07:08", "06:07:08"),
        ("duration('P1DT2S')", "P1DT2S", "P1DT2S"),
        ("point({x: 1, y: 2})", "CartesianPoint(1.0, 2.0)", "CartesianPoint(1.0, 2.0)"),
        ("[1, 'a b', [null]]", [1, "a b", [None]], "1, a b,"),
        ("{a: 1, b: ['x']}", {"a": 1, "b": ["x"]}, "{a: 1, b: x}"),
        ("'two\\nlines \\u001b[31m'", "two\nlines \x1b[31m", "two lines [31m"),
    ],
)
def test_values_are_plain_and_readable(mill: MillGraph, tmp_path: Path, value: str, found: object, shown: str) -> None:
    (row,) = run_text(mill, f"RETURN {value} AS one", "one").rows
    assert row == {"one": found}
    done = call("run", "say_it", "--folder", written(tmp_path, "say_it", f"RETURN {value} AS one"))
    assert [line.rstrip() for line in done.out.splitlines()][2] == shown
    assert "\x1b" not in call("run", "say_it", "--folder", tmp_path, "--format", "csv").out


def test_nodes_relationships_and_paths_are_plain_and_readable(mill: MillGraph, tmp_path: Path) -> None:
    body = (
        "MATCH path = (e:Entity {id: $id})-[r:SYNONYM]->(o:Entity)\n"
        "RETURN o AS node, r AS relationship, path AS path, [e] AS list"
    )
    folder = written(
        tmp_path,
        "show_graph",
        body,
        params="id",
        columns="node, relationship, path, list",
        lines="// $id text: an id\n",
    )
    lund, sorrel = (entity_id(mill.corpus, name) for name in ("Lund", "Sorrel"))
    done = call("run", "show_graph", "--folder", folder, "--id", lund, "--json")
    (row,) = json.loads(done.out)["rows"]
    assert row["node"]["labels"] == ["Entity"]
    assert row["node"]["properties"]["name"] == "Sorrel"
    edge = {"type": "SYNONYM", "start": lund, "end": sorrel, "properties": {"similarity": 0.875}}
    assert row["relationship"] == edge
    assert [node["properties"]["id"] for node in row["path"]["nodes"]] == [lund, sorrel]
    assert row["path"]["relationships"] == [edge]
    line = call("run", "show_graph", "--folder", folder, "--id", lund).out.splitlines()[2]
    assert re.split(r"  +", line) == [
        "(:Entity Sorrel)",
        "[:SYNONYM {similarity: 0.875}]",
        "(:Entity Lund)-[:SYNONYM {similarity: 0.875}]-(:Entity Sorr…",
        "(:Entity Lund)",
    ]


# The command


def test_two_names_are_connected_on_the_command_line() -> None:
    done = call("run", "what_connects", "--source", "Hanna Voss", "--target", "Piet Marn")
    assert (done.code, done.err) == (0, "")
    assert re.sub(r"\d+ ms", "N ms", done.out) == (
        "step  start       end        facts                          chunks  statement\n"
        "----  ----------  ---------  -----------------------------  ------  --------------------------------------\n"
        "   1  Hanna Voss  Orle Mill  Orle Mill built by Hanna Voss       2  The Orle Mill was built by Hanna Voss.\n"
        "   2  Orle Mill   Piet Marn  Orle Mill built by Piet Marn        1  The Orle Mill was built by Piet Marn.\n"
        "\n2 rows in N ms\n"
    )


def test_json_holds_everything(mill: MillGraph) -> None:
    done = call("run", "list_facts", "--entity=Lund", "--k=1", "--format", "json")
    tree = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert tree.pop("milliseconds") > 0
    row = {"subject": "Hanna Voss", "predicate": "lived in", "object": "Lund", "statements": 1}
    assert tree.pop("rows") == [
        {**row, "fact_id": fact_id(mill.corpus, "Hanna Voss", "lived in", "Lund", is_literal=False)}
    ]
    assert tree == {
        "query": "list_facts",
        "params": {"corpus": mill.corpus, "entity": entity_id(mill.corpus, "Lund"), "where": "", "kinds": "", "k": 1},
        "columns": ["subject", "predicate", "object", "statements", "fact_id"],
        "is_cut": False,
    }
    assert call("run", "list_facts", "--entity=Lund", "--k=1", "--json").out.startswith('{"query": "list_facts"')


def test_values_may_begin_with_a_dash() -> None:
    assert call("run", "list_communities", "--level", "-1").code == 0
    assert "level is -2; choose" in call("run", "list_communities", "--level", "-2").err
    assert "there is no entity '-h'" in call("run", "list_facts", "--entity=-h").err
    assert call("run", "find_copies", "--characters", "-12").code == 2


def test_csv_is_read_back(mill: MillGraph) -> None:
    done = call("run", "find_contradictions", "--format", "csv")
    head, row = csv.reader(io.StringIO(done.out))
    assert head == ["subject", "predicate", "objects", "sources", "single_share", "fact_ids"]
    assert row[:2] == ["Orle Mill", "built by"]
    assert json.loads(row[2]) == ["Hanna Voss", "Piet Marn"]
    assert call("run", "find_contradictions", "--predicate", "none", "--format", "csv").out == ",".join(head) + "\n"


def test_no_row_and_more_rows_are_said() -> None:
    assert re.fullmatch(r"0 rows in \d+ ms\n", call("run", "list_communities", "--level", "7").out)
    done = call("run", "rank_entities", "--max-rows", "2", "--format", "csv")
    assert done.out.count("\n") == 3
    assert done.err == "only the first 2 rows are shown; raise --max-rows for more\n"
    done = call("run", "rank_entities", "--max-rows", "2", "--json")
    assert (json.loads(done.out)["is_cut"], done.err) == (True, "")


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        (("what_connect",), "UnknownNameError", "did you mean what_connects?"),
        (("what_connects", "--source", "x"), "InputError", "needs target (where it ends); give --target VALUE"),
        (("what_connects", "--sorce", "x"), "InputError", "no parameter 'sorce'; did you mean source?"),
        (("rank_entities", "--zoom", "x"), "InputError", "no parameter 'zoom'; it takes corpus, where, kinds, k"),
        (("rank_entities", "--k", "ten"), "InputError", "k is 'ten'; give a whole number: maximum number of rows"),
        (("rank_entities", "--k", "0"), "InputError", "k is 0; choose a whole number in 1.."),
        (("rank_entities", "--k", "1" * 30), "InputError", "choose a whole number in 1.."),
        (("rank_entities", "--k"), "InputError", "--k has no value"),
        (("rank_entities", "--k", "1", "--k=2"), "InputError", "--k is given twice"),
        (("rank_entities", "5"), "InputError", "'5' is not a parameter; write --name value"),
        (("rank_entities", "-k", "5"), "InputError", "'-k' is not a parameter; write --name value"),
        (("find_hubs", "--share", "2"), "InputError", "share is 2.0; choose a number in 0..1"),
        (("list_facts", "--entity", " "), "InputError", "entity is ' '; give a name or an id"),
        (("find_entities", "--name", '"x'), "InputError", "analyst/find_entities: the server cannot run it"),
        (("rank_entities", "--corpus", "nowhere"), "UnknownNameError", "there is no corpus 'nowhere'"),
        (("rank_entities", "--timeout", "0"), "InputError", "timeout is 0.0; choose"),
        (("rank_entities", "--max-rows", "0"), "InputError", "max_rows is 0; choose"),
        (("rank_entities", "--folder", "/nowhere"), "InputError", "/nowhere: there is no such folder"),
        (("rank_entities", "--format", "xml"), "UsageError", "'xml' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_2_and_one_line(arguments: tuple[str, ...], kind: str, says: str) -> None:
    done = call("run", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert says in done.err
    told = json.loads(call("run", *arguments[:1], "--json", *arguments[1:]).err)["error"]
    assert (told["type"], told["retryable"]) == (kind, False)


def test_a_query_that_takes_too_long_is_3(tmp_path: Path) -> None:
    body = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(a + b) AS one"
    done = call("run", "count_long", "--folder", written(tmp_path, "count_long", body), "--timeout", "0.3", "--json")
    told = json.loads(done.err)["error"]
    assert (done.code, told["type"], told["retryable"]) == (3, "StoreUnavailableError", True)


def test_a_server_that_is_away_is_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_STORE", "bolt://127.0.0.1:1")
    done = call("run", "rank_entities", "--json")
    assert (done.code, json.loads(done.err)["error"]["type"]) == (3, "StoreUnavailableError")


def test_without_a_server_there_is_a_list_and_no_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    done = call("run", "rank_entities")
    assert done.code == 2
    assert "the embedded store has no Cypher" in done.err
    listed = call("list")
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines()[:-1]] == list(analyst.load_all())
    assert max(map(len, listed.out.splitlines())) <= 150
    shown = call("show", "what_connects", "--corpus", "it's")
    assert shown.code == 0
    assert "  --hops    integer 1..6, default 4: maximum number of steps\n" in shown.out
    assert ":param corpus => 'it\\'s'\n:param source => 'ID OF THE ENTITY'\n" in shown.out
    assert analyst.load("what_connects").text in shown.out
    assert not (tmp_path / "store").exists()


# Examples


@pytest.fixture(scope="module")
def samples(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a corpus with the samples of hlgraph, extracted by rules."""
    folder = tmp_path_factory.mktemp("samples")
    settings = Settings(
        store=servers.neo4j.url, vectors=f"hlgraph://{folder}/v", corpus="samples-of-queries", neo4j=neo4j_of(servers)
    )
    with hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        copy, draft = folder / "reprint.md", folder / "draft.md"
        copy.write_bytes((_SAMPLES / "jonas-querl.md").read_bytes())
        draft.write_text("# Draft\n", encoding="utf-8")
        (folder / "odd.md").write_text(f"# {_ODD}\n\nTwo ferries crossed the river.\n", encoding="utf-8")
        graph.ingest(
            [_SAMPLES, copy, draft, folder / "odd.md"]
        )  # the samples have no copy, and no source without a statement
        graph.communities.build()
        graph.merges.apply([("The Velm", "Velm")])
        yield settings.corpus
        graph.delete(everything=True)


def test_every_example_gives_rows_for_the_samples(samples: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_CORPUS", samples)
    fact = json.loads(call("run", "rank_facts", "--k", "1", "--json").out)["rows"][0]["fact_id"]
    statement = json.loads(call("run", "list_mentions", "--entity", "Ombry", "--json").out)["rows"][0]["statement_id"]
    empty = set()
    for name, query in analyst.load_all().items():
        words = shlex.split(query.example.replace("STATEMENT_ID", statement).replace("FACT_ID", fact))
        assert words[:4] == ["hlgraph", "cypher", "run", name]
        done = call(*words[2:], "--json")
        assert (done.code, done.err) == (0, ""), name
        if not json.loads(done.out)["rows"]:
            empty.add(name)
    assert empty == set()


@pytest.mark.parametrize("name", ["list_statements", "trace_topic"])
def test_a_topic_may_have_any_name(samples: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HLGRAPH_CORPUS", samples)
    for topic, expected in ((_ODD.upper(), 1), ('"Old"', 0), ("\\", 0), ("!", 0), ("Old AND", 0)):
        done = call("run", name, "--topic", topic, "--json")
        assert (done.code, done.err) == (0, ""), topic
        assert len(json.loads(done.out)["rows"]) == expected, topic


def test_settings_of_another_database_are_used(mill: MillGraph) -> None:
    settings = replace(mill.settings, neo4j=replace(mill.settings.neo4j, database="nowhere"))
    with hlgraph.connect(settings) as graph, pytest.raises(hlgraph.HLGraphError, match="no such database"):
        graph.cypher("rank_entities")
