"""What scripts can rely on: the shape of the JSON of every command, exit codes, and what goes to which stream.

The shapes lie in tests/data/cli/json, one file a command: every key, and the type of every value. ``*`` stands for keys that
are data (names of corpora, steps, kinds), ``data`` for values too. After a change that is meant:
``HLGRAPH_UPDATE_SNAPSHOTS=1 pytest tests/integration/test_cli_contract.py``, and look at the difference.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_server import MODEL, ChatServer
from command_line import call
from pytest_httpserver import HTTPServer
from question_corpus import DOCUMENTS
from sample_vectors import copied
from tiny_model import make_model

from hlgraph.cli.command import CHATTY, DRIVERS
from hlgraph.cli.output import bulk_tree
from hlgraph.ingest.bulk_load import BulkReport
from hlgraph.ingest.report import Report
from hlgraph.models import choose
from hlgraph.persist.assemble import removal
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.bulk_copies import Manifest
from hlgraph.stores.open import open_stores
from hlgraph.testing.chat import ScriptedChat

SAMPLES = Path(__file__).parents[2] / "hlgraph" / "samples"
FOLDER = Path(__file__).parents[1] / "data" / "cli" / "json"
DATA = {"metadata", "why", "details", "parameters", "errors", "params", "cut", "pruned", "left_out", "fallbacks"}
DATA |= {"by_kind", "wanted", "lacking", "not_used", "unreadable_replies", "by_finding"}
DATA |= {"faults", "by_k", "by_model", "by_negative", "copies", "balance"}
OPEN = {"corpora", "records", "relationships", "seconds", "strategies", "stores", "growth"} | {
    *("by_hops", "by_type", "by_subset", "length_by_negative"),
}
QUESTION = "Who designed the Halfmoon Bridge?"
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


@pytest.fixture(scope="module")
def place(sample_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with documents, a store of them, and a cache; the environment points there."""
    found = tmp_path_factory.mktemp("contract")
    (found / "docs").mkdir()
    for name in ("halfmoon-bridge.md", "flood-warning-plan.pdf"):
        shutil.copy(SAMPLES / name, found / "docs")
    (found / "docs" / "cut.json").write_text("{")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HLGRAPH_STORE", f"hlgraph://{found}/store")
        patch.setenv("HLGRAPH_CACHE", copied(sample_vectors, found / "cache"))
        for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG"):
            patch.delenv(name, raising=False)
        done = call("ingest", found / "docs", "--json")
        assert (done.code, done.err) == (1, "")
        (found / "ingested.json").write_text(done.out)
        yield found
    logging.getLogger("hlgraph").handlers.clear()
    for name in (*CHATTY, *DRIVERS):
        logging.getLogger(name).setLevel(logging.NOTSET)


def shape(value: object, key: str = "") -> Any:
    """The keys and types of a value; those of the items of a list, and of the values under open keys, are merged."""
    if isinstance(value, dict):
        if key in DATA:
            return {"*": "data"}
        if key in OPEN:
            return {"*": merged([shape(item) for item in value.values()])}
        return {name: shape(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [merged([shape(item) for item in value])]
    return TYPES[type(value)]


def merged(shapes: list[Any]) -> Any:
    """One shape for all: types as ``a|b``; the keys must be the same everywhere."""
    found = [item for item in shapes if item is not None]
    if not found:
        return None
    kinds = {type(item) for item in found}
    assert len(kinds) == 1, f"values of one key are of different kinds: {found}"
    if kinds == {str}:
        return "|".join(sorted({part for item in found for part in item.split("|")}))
    if kinds == {list}:
        return [merged([inner for item in found for inner in item])]
    assert all(item.keys() == found[0].keys() for item in found), f"records of one kind have other keys: {found}"
    return {name: merged([item[name] for item in found]) for name in found[0]}


def assert_snapshot(name: str, *trees: object) -> None:
    file = FOLDER / f"{name}.json"
    found = merged([shape(tree) for tree in trees])
    if os.environ.get("HLGRAPH_UPDATE_SNAPSHOTS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    assert found == json.loads(file.read_text(encoding="utf-8")), f"see the docstring of {Path(__file__).name}"


def silent(*arguments: object, code: int = 0) -> Any:
    """The JSON of a command that says nothing else."""
    done = call(*arguments, "--json")
    assert (done.code, done.err) == (code, ""), done
    return done.tree


def test_health(place: Path) -> None:
    found = silent("health")
    assert (found["is_live"], found["is_ready"], found["image"]) == (True, True, None)
    assert_snapshot("health", {**found, "image": {"corpus": "c", "version": 2, "image": 1, "behind": 1}})


def test_ingest(place: Path) -> None:
    (place / "rows.jsonl").write_text('{"id": "r1", "text": "Mara Quill built a mill."}\n')
    (place / "extractions.jsonl").write_text('{"passage_id": "other", "entities": ["x"], "triples": []}\n')
    chosen = ("--extract", "precomputed", "--extractions", place / "extractions.jsonl", "--corpus", "rows")
    problem = silent("ingest", place / "rows.jsonl", *chosen, code=1)
    assert problem["problems"]
    first = json.loads((place / "ingested.json").read_text())
    assert [item["uri"] for item in first["sources"]["failed"]] == [(place / "docs" / "cut.json").as_uri()]
    assert_snapshot("ingest", first, problem)
    manifest = Manifest(
        id="a", corpus="c", database="neo4j", label_prefix="", hlgraph="1", version=1, embedding="e", dimensions=8
    )
    manifest = replace(manifest, records={"source": 1}, relationships={"about": 1})
    report = BulkReport(manifest, place / "load" / "import", Report(), ("neo4j-admin", "import"), {"import": 1.0})
    assert_snapshot("ingest-bulk", bulk_tree(report), bulk_tree(replace(report, command=())))
    again = silent("ingest", place / "docs", code=1)
    assert shape(again)["sources"] == shape(first)["sources"]
    assert (again["sources"]["unchanged"], again["chunks"]["kept"]) == (2, first["chunks"]["added"])


def test_delete(place: Path) -> None:
    (place / "gone.txt").write_text("Ivo Brandt left Tessing.")
    silent("ingest", place / "gone.txt", "--corpus", "gone")
    tree = silent("delete", place / "gone.txt", "--corpus", "gone")
    assert tree["sources"]["removed"] == 1
    assert_snapshot("delete", tree)


def test_holds_and_receipts(place: Path) -> None:
    held, file = ("--corpus", "held"), place / "receipts.jsonl"
    (place / "held.txt").write_text("Ivo Brandt left Tessing.")
    silent("ingest", place / "held.txt", *held)
    assert call("hold", "list", *held).out == "no holds\n"
    added = silent("hold", "add", "case", "--uri", place / "held.txt", *held)
    listed = silent("hold", "list", *held)
    assert listed == {"holds": [added]}
    refused = call("delete", place / "held.txt", "--receipt", file, "--json", *held)
    assert (refused.code, json.loads(refused.err)["error"]["type"], file.exists()) == (2, "HoldError", False)
    released = silent("hold", "release", "case", *held)
    deleted = silent("delete", place / "held.txt", "--receipt", file, *held)
    verified = silent("receipts", "verify", file)
    compared = silent("receipts", "verify", file, "--with-store")
    assert (verified["receipts"][0]["hash"], compared["returned"]) == (deleted["receipt"]["hash"], [])
    silent("ingest", place / "held.txt", *held)
    again = call("receipts", "verify", file, "--with-store")
    assert (again.code, "in the store again: " in again.out) == (1, True)
    file.write_text(file.read_text().replace('"uncounted":0', '"uncounted":1'))
    altered = call("receipts", "verify", file)
    assert (altered.code, "receipt 1 (line 1) was altered" in altered.err) == (2, True)
    assert call("receipts", "verify", file, *held).code == 2
    assert_snapshot("hold-add", added)
    assert_snapshot("hold-list", listed)
    assert_snapshot("hold-release", released)
    assert_snapshot("receipts-verify", verified, {**compared, "returned": ["id"]})


def test_embeddings(place: Path) -> None:
    """Another model, by the name of its folder; the process that has the old one in its settings searches by the new one."""
    corpus, model = ("--corpus", "sets"), make_model(place / "tiny-model")
    (place / "bridge.txt").write_text("The keeper built a bridge. The old ferry had a lamp.")
    silent("ingest", place / "bridge.txt", *corpus)
    asked = ("search", "Who built the bridge?", "--strategy", "statement", *corpus)
    before = silent(*asked)
    planned = silent("embeddings", "plan", model, *corpus)
    built = silent("embeddings", "build", model, *corpus)
    assert (built["texts"], built["missing"]) == (planned["texts"], 0)
    assert silent(*asked)["evidence"] == before["evidence"]
    verified = silent("embeddings", "verify", "--question", "Who built the bridge?", *corpus)
    switched = silent("embeddings", "switch", *corpus)
    after = silent(*asked)
    assert after["evidence"]
    assert after["evidence"] != before["evidence"]
    listed = silent("embeddings", "list", *corpus)
    assert [one["state"] for one in listed["sets"]] == ["current", "previous"]
    silent("ingest", place / "bridge.txt", *corpus)
    returned = silent("embeddings", "rollback", *corpus)
    assert silent(*asked)["evidence"] == before["evidence"]
    dropped = silent("embeddings", "drop", *corpus)
    assert call("embeddings", "plan", "nowhere", *corpus).code == 4
    assert_snapshot("embeddings-plan", planned)
    assert_snapshot("embeddings-build", built)
    assert_snapshot("embeddings-verify", verified)
    assert_snapshot("embeddings-switch", switched, returned)
    assert_snapshot("embeddings-list", listed)
    assert_snapshot("embeddings-drop", dropped)


def test_search(place: Path) -> None:
    wide = silent("search", QUESTION, "--k", 200)
    chunks = silent("search", QUESTION, "--unit", "chunk", "--strategy", "topic", "--mode", "hybrid")
    assert {item["page"] is None for item in wide["evidence"]} == {True, False}
    assert [len(silent("search", QUESTION, "--k", 3)["evidence"])] == [3]
    assert all(item["statement_id"] is None for item in chunks["evidence"])
    told = silent("search", QUESTION, "--strategy", "chunk_entity", "--explain", "--picture", place / "bridge.html")
    assert told["explain"]["paths"]
    assert (place / "bridge.html").read_text().startswith("<!doctype html>")
    assert not wide["explain"]["calls"]
    assert_snapshot("search", wide, chunks, told)
    none = silent("search", QUESTION, "--where", "year = 1")
    assert none["evidence"] == []
    assert none["explain"].keys() == wide["explain"].keys()


def test_what_happens_after_the_ranking_is_asked_for_by_options(place: Path) -> None:
    steps = {
        options: {step["name"]: step for step in silent("search", QUESTION, *options)["explain"]["steps"]}
        for options in ((), ("--diversity", "0"), ("--diversity", "0.2", "--tabular"))
    }
    assert steps[()]["diversity"]["details"]["tau"] == 0.005
    assert not {"diversity", "tabular"} & steps["--diversity", "0"].keys()
    both = steps["--diversity", "0.2", "--tabular"]
    assert both["diversity"]["details"]["tau"] == 0.2
    assert "tabular" in both


def test_numbers_of_tables_have_their_labels(tmp_path: Path, place: Path) -> None:
    table = "Freight (in tons)\n\n| | 1952 | 1953 |\n|---|---|---|\n| Salt | 12 | 15 |\n"
    (tmp_path / "freight.md").write_text(table)
    silent("ingest", tmp_path / "freight.md", "--corpus", "freight")
    asked = ("search", "Salt in 1953", "--corpus", "freight")
    found = {item["text"]: item["labels"] for item in silent(*asked, "--tabular")["evidence"]}
    (row,) = (labels for text, labels in found.items() if "15" in text)
    assert row == ["Salt, 1952 (Freight (in tons)): 12", "Salt, 1953 (Freight (in tons)): 15"]
    assert "    table: Salt, 1953 (Freight (in tons)): 15" in call(*asked, "--tabular").out.splitlines()
    assert not any(item["labels"] for item in silent(*asked)["evidence"])
    silent("delete", "--all", "--corpus", "freight")


def test_the_evidence_is_the_text_of_its_span(place: Path) -> None:
    text = (place / "docs" / "halfmoon-bridge.md").read_text().split("---\n", 2)[2]
    first = silent("search", QUESTION, "--unit", "chunk", "--strategy", "chunk", "--k", 1)["evidence"][0]
    assert first["source"]["uri"] == (place / "docs" / "halfmoon-bridge.md").as_uri()
    assert text[first["start"] : first["end"]] == first["text"]


def test_answer(place: Path) -> None:
    tree = silent("answer", QUESTION, "--k", 50)
    assert tree["is_supported"]
    assert [item["number"] for item in tree["citations"]] == list(range(1, len(tree["citations"]) + 1))
    other = silent(
        "answer", "How high must the river be for a warning?", "--where", 'filename = "flood-warning-plan.pdf"'
    )
    choices = ("--choice", "Jonas Querl", "--choice", "Ada Lovelace")
    chosen = silent("answer", QUESTION, *choices)
    assert (chosen["choice"]["index"], chosen["choice"]["text"]) == (0, "Jonas Querl")
    refused = silent("answer", "Which concert did Lorna Hale conduct in Vienna?")
    assert (refused["is_supported"], refused["citations"]) == (False, [])
    assert_snapshot("answer", tree, other, refused)
    assert_snapshot("answer-choice", chosen)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--context-tokens", 10), "context-tokens is 10; give at least 200"),
        (("--least-support", 2), "least-support is 2.0; choose a number from 0"),
        (("--choice", "one"), "the number of choices is 1; give at least 2"),
        (("--choice", "one", "--choice", "ONE "), "choices 1 and 2 are the same"),
        (("--choice", "one", "--choice", "two", "--mode", "report"), "which does not apply to choices"),
        (("--verify", "chat"), "verify is 'chat', and no chat model is configured"),
        (("--stream",), "use only one of them"),
    ],
)
def test_answers_that_cannot_be_asked_for(place: Path, arguments: tuple[object, ...], reason: str) -> None:
    done = call("answer", QUESTION, *arguments, "--json")
    assert (done.code, done.error["type"], reason in done.error["message"]) == (2, "InputError", True), done.err


def test_stats(place: Path) -> None:
    tree = silent("stats")
    assert tree["store"] == f"hlgraph://{place}/store"
    assert tree["corpora"]["default"]["records"]["source"] == 2
    assert_snapshot("stats", tree)


def test_lists_and_show(place: Path) -> None:
    for name in ("sources", "entities", "facts"):
        tree = silent(name, "--limit", 1)
        assert len(tree[name]) == 1 < tree["total"]
        assert_snapshot(name, tree)
    assert_snapshot("show-source", silent("show", place / "docs" / "flood-warning-plan.pdf"))
    assert_snapshot("show-entity", silent("show", "Jonas Querl"))
    fact = silent("facts", "--limit", 1)["facts"][0]["id"]
    assert_snapshot("show-fact", silent("show", fact))


def test_doctor(place: Path) -> None:
    tree = silent("doctor")
    assert tree["is_fine"]
    assert_snapshot("doctor", tree)


def test_backup_and_restore(place: Path, tmp_path: Path) -> None:
    made = silent("backup", tmp_path / "backup")
    assert silent("backup", tmp_path / "backup")["written"] == 0
    assert_snapshot("backup", made)
    restored = silent("--store", f"hlgraph://{tmp_path}/new", "restore", tmp_path / "backup")
    assert restored["bytes"] == made["bytes"]
    assert_snapshot("restore", restored)


def test_journal(place: Path, tmp_path: Path) -> None:
    store = ("--store", f"hlgraph://{tmp_path}/store", "journal")
    assert silent(*store) == {"changes": [], "dropped": []}
    assert not (tmp_path / "store").exists()
    opened = open_stores(store[1])
    with opened.closing, opened.stores.graph.lock():
        for name in ("a", "b"):
            opened.stores.graph.stage(removal(name, ["x"], versions=[1]))
    found = silent(*store)
    assert [item["corpus"] for item in found["changes"]] == ["a", "b"]
    one = silent(*store, "drop", "--change", found["changes"][1]["id"])
    assert one["dropped"] == [found["changes"][1]["id"]]
    assert_snapshot("journal", found, one)
    assert call(*store, "drop").out.startswith(f"{found['changes'][0]['id']}  dropped: corpus a")
    assert silent(*store) == {"changes": [], "dropped": []}
    assert "there is no unfinished change" in call(*store, "drop", "--change", "x", "--json").error["message"]


def test_migrate(place: Path, tmp_path: Path) -> None:
    new = ("--store", f"hlgraph://{tmp_path}/new", "migrate")
    steps = [silent(*new), silent(*new, "verify", code=1), silent(*new, "apply"), silent(*new, "verify")]
    assert [step["is_pending"] for step in steps] == [True, True, False, False]
    assert steps[2]["stores"]["embedded"]["now"] == steps[0]["stores"]["embedded"]["pending"]
    with contextlib.closing(sqlite3.connect(tmp_path / "new" / "hlgraph.db")) as connection:
        (lost,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        ).fetchone()
        connection.execute(f"DROP INDEX {lost}")
    steps += [silent(*new, "verify", code=1), silent(*new, "repair"), silent(*new, "verify")]
    assert [step["is_different"] for step in steps[3:]] == [False, True, False, False]
    assert_snapshot("migrate", *steps)


def test_init_and_config(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = silent("--store", f"hlgraph://{tmp_path}/new", "init", tmp_path / "hlgraph.yaml")
    servers = silent("--store", f"hlgraph://{tmp_path}/new", "init", "--servers", tmp_path / "servers.yaml")
    assert_snapshot("init", made, servers)
    for name in ("HLGRAPH_MODELS", "HLGRAPH_CACHE"):
        monkeypatch.setenv(name, str(tmp_path))
    everything = silent("config")
    for name in ("HLGRAPH_MODELS", "HLGRAPH_CACHE"):
        monkeypatch.delenv(name)
    assert_snapshot("config", everything, silent("config"))


def test_models(place: Path) -> None:
    listed = silent("models", "list")
    assert_snapshot("models-list", listed)
    # What is installed stays: nothing is fetched.
    assert silent("models", "install") in listed["models"]
    assert_snapshot("models-install", silent("models", "install"))


def test_communities(place: Path, tmp_path: Path) -> None:
    store = ("--store", f"hlgraph://{tmp_path}/store")
    silent(*store, "ingest", place / "docs" / "halfmoon-bridge.md")
    nothing = silent(*store, "communities", "list")
    assert nothing == {"run": None, "communities": [], "total": 0}
    assert "next: hlgraph communities build" in call(*store, "communities", "list").out
    built = silent(*store, "communities", "build", "--max-size", 5)
    assert built["added"] == sum(built["communities"]) > 0
    again = silent(*store, "communities", "build", "--max-size", 5)
    assert again["is_unchanged"]
    assert call(*store, "communities", "build", "--max-size", 5).out.endswith("with the same parameters\n")
    listed = silent(*store, "communities", "list", "--level", 0, "--k", 3, "--names", 2)
    assert [item["level"] for item in listed["communities"]] == [0, 0, 0]
    assert all(1 <= len(item["names"]) <= 2 <= item["size"] <= 5 for item in listed["communities"])
    rest = silent(*store, "communities", "list", "--level", 0, "--k", 3, "--skip", 3)["communities"]
    assert {item["id"] for item in rest}.isdisjoint(item["id"] for item in listed["communities"])
    (tmp_path / "more.md").write_text("Mara Quill built a house in Tessing.")
    silent(*store, "ingest", tmp_path / "more.md")
    stale = silent(*store, "communities", "list")
    assert stale["run"]["is_stale"]
    assert call(*store, "communities", "list").out.startswith("STALE: the corpus has changed since version 1")
    silent(*store, "delete", "--all")
    assert silent(*store, "communities", "list") == {"run": None, "communities": [], "total": 0}
    assert_snapshot("communities-build", built, again)
    assert_snapshot("communities-list", listed, stale)


def test_hierarchy(place: Path, tmp_path: Path) -> None:
    store = ("--store", f"hlgraph://{tmp_path}/store")
    for name in ("halfmoon-bridge.md", "flood-warning-plan.pdf"):
        silent(*store, "ingest", place / "docs" / name)
    nothing = silent(*store, "hierarchy", "list")
    assert nothing == {"run": None, "waiting": 0, "alone": 0, "summaries": [], "source_summaries": []}
    assert call(*store, "hierarchy", "list").out == "no hierarchy has been built; next: hlgraph hierarchy build\n"
    refused = call(*store, "search", QUESTION, "--strategy", "hierarchy", "--json")
    assert (refused.code, refused.error["type"]) == (2, "InputError")
    assert "run: hlgraph hierarchy build --corpus default" in refused.error["message"]
    built = silent(*store, "hierarchy", "build", "--max-size", 3)
    assert built["written"] == sum(built["summaries"]) > 0
    again = silent(*store, "hierarchy", "build", "--max-size", 3)
    assert again["is_unchanged"]
    assert call(*store, "hierarchy", "build", "--max-size", 3).out.endswith("with the same parameters\n")
    long = call(*store, "hierarchy", "build", "--max-size", 3, "--long-source", 100).out
    assert re.match(r"layer 0: \d+ chunks and [12] summaries of sources\n", long)
    told = call(*store, "hierarchy", "list", "--k", 1).out
    assert re.search(r"^source \S+(halfmoon-bridge\.md|flood-warning-plan\.pdf): \w", told, flags=re.MULTILINE)
    assert call(*store, "hierarchy", "build", "--long-source", -1).code == 2
    silent(*store, "hierarchy", "build", "--max-size", 3)
    listed = silent(*store, "hierarchy", "list", "--k", 2)
    assert len(listed["summaries"]) == 2
    found = silent(*store, "search", QUESTION, "--strategy", "hierarchy", "--k", 3)
    assert len(found["evidence"]) == 3
    summaries = ("search", QUESTION, "--strategy", "hierarchy", "--unit", "summary", "--k", 2)
    opened = silent(*store, *summaries, "--explain")
    assert all(item["rests_on"] and not item["is_stale"] for item in opened["evidence"])
    lines = call(*store, *summaries).out.splitlines()
    assert re.fullmatch(r"    summary of \d chunks of 1 source", lines[1])
    assert re.fullmatch(r"    rests on: .*; characters \d+-\d+ of \S+", lines[2])
    far = call(*store, "hierarchy", "build", "--layers", 2, "--threshold", 1).out
    assert re.search(r"^alone: (\d+) of \1 of layer 0 are in no community, .* than 1 joins", far, flags=re.MULTILINE)
    silent(*store, "hierarchy", "build", "--max-size", 3)
    (tmp_path / "more.md").write_text("Mara Quill built a house in Tessing.")
    silent(*store, "ingest", tmp_path / "more.md")
    assert "STALE" not in call(*store, *summaries).out  # nothing that they rest on has changed
    stale = silent(*store, "hierarchy", "list", "--k", 1)
    assert stale["run"]["is_stale"]
    assert call(*store, "hierarchy", "list").out.startswith("STALE: the corpus has changed since version 2")
    mended = silent(*store, "hierarchy", "build", "--max-size", 3, "--summaries", "extractive")
    assert mended["kept"] > 0
    silent(*store, "delete", "--all")
    assert silent(*store, "hierarchy", "list") == nothing
    assert_snapshot("hierarchy-build", built, again, mended)
    assert_snapshot("hierarchy-list", listed, stale)
    assert_snapshot("search-summary", opened)


def test_merges(place: Path, tmp_path: Path) -> None:
    store = ("--store", f"hlgraph://{tmp_path}/store")
    names = ["Mara Quill", "M. Quill", "Quill", "Saint-Orne Abbey", "Saint Orne Abbey"]
    row = {"passage_id": "r1", "entities": names, "triples": [[name, "is", "a name"] for name in names]}
    (tmp_path / "rows.jsonl").write_text('{"id": "r1", "text": "Names are names."}\n')
    (tmp_path / "extractions.jsonl").write_text(json.dumps(row) + "\n")
    chosen = ("--extract", "precomputed", "--extractions", tmp_path / "extractions.jsonl")
    silent(*store, "ingest", tmp_path / "rows.jsonl", *chosen)
    assert silent(*store, "merges", "list") == {"decisions": [], "contradictions": [], "groups": []}
    assert call(*store, "merges", "list").out == "no decisions yet; next: hlgraph merges propose\n"
    proposed = silent(*store, "merges", "propose")
    assert proposed["candidates"][0]["is_certain"]
    assert call(*store, "merges", "propose").out.startswith("certain    Saint")
    dry = silent(*store, "merges", "judge")
    assert (dry["is_dry_run"], len(dry["merged"]), dry["calls"]) == (True, 1, 0)
    assert call(*store, "merges", "judge").out.endswith("next: hlgraph merges judge --write\n")
    assert silent(*store, "merges", "list")["decisions"] == []
    judged = silent(*store, "merges", "judge", "--by", "rules", "--write")
    assert [item["by"] for item in judged["merged"]] == ["rule"]
    told = silent(*store, "merges", "apply", "Quill", "M. Quill", "--different", "--by", "Ada", "--why", "a sister")
    applied = silent(*store, "merges", "apply", "M. Quill", "Mara Quill")
    again = silent(*store, "merges", "apply", "M. Quill", "Mara Quill")
    assert (applied["is_unchanged"], again) == (False, {"decisions": [], "is_unchanged": True})
    assert call(*store, "merges", "apply", "M. Quill", "Mara Quill").out == "unchanged: the decision already exists\n"
    refused = call(*store, "merges", "apply", "Quill", "Mara Quill", "--json")
    assert (refused.code, refused.error["type"]) == (2, "InputError")
    assert "'M. Quill' and 'Quill' are kept apart; undo that decision first" in refused.error["message"].replace(
        "'Quill' and 'M. Quill' are", "'M. Quill' and 'Quill' are"
    )
    listed = silent(*store, "merges", "list")
    assert {"canonical": "Mara Quill", "aliases": ["M. Quill"]} in listed["groups"]
    assert "merged: Mara Quill, also called M. Quill\n" in call(*store, "merges", "list").out
    undone = silent(*store, "merges", "undo", *(item["id"] for item in applied["decisions"]))
    assert [item["alias"] for item in undone["undone"]] == ["M. Quill"]
    assert call(*store, "merges", "undo", told["decisions"][0]["id"]).out.startswith(
        "undone: Quill  ->  M. Quill  (by person"
    )
    assert call(*store, "merges", "undo", "x", "--json").code == 2
    assert silent(*store, "doctor")["is_fine"]
    for name, trees in (
        ("propose", (proposed,)),
        ("judge", (dry, judged)),
        ("list", (listed,)),
        ("apply", (applied, told, again)),
        ("undo", (undone,)),
    ):
        assert_snapshot(f"merges-{name}", *trees)


def test_cypher(place: Path) -> None:
    listed = silent("cypher", "list")
    assert "what_connects" in [item["name"] for item in listed["queries"]]
    assert_snapshot("cypher-list", listed)
    assert_snapshot("cypher-show", silent("cypher", "show", "what_connects"), silent("cypher", "show", "find_hubs"))


def _evaluation_set(folder: Path) -> Path:
    passages = [("p1", "Mara Quill built the mill of Tessing."), ("p2", "Ivo Brandt painted the harbour.")]
    asked = [("q1", "Who built the mill?", "p1"), ("q2", "Who painted the harbour?", "p2")]
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"id": a, "title": a, "text": b}) + "\n" for a, b in passages)
    )
    rows = [{"id": a, "question": b, "supporting_passage_ids": [c]} for a, b, c in asked]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_eval(place: Path) -> None:
    folder = _evaluation_set(place / "tiny")
    tree = silent("eval", folder, "--save", place / "run.json")
    assert (tree["dataset"], tree["questions"]) == ("tiny", 2)
    assert all(figures["recall@2"] == figures["all_gold@5"] == 100 for figures in tree["strategies"].values())
    compared = silent("eval", folder, "--preset", "plain", "--baseline", place / "run.json")
    assert compared["changes"][0] == "preset: paper before, plain now"
    assert_snapshot("eval", tree, compared)
    few = silent("eval", folder, "--strategies", "chunk,statement", "--limit", 1, "--preset", "plain", "--alone")
    assert (few["questions"], set(few["strategies"]), few["preset"]) == (1, {"chunk", "statement"}, "plain")
    other = folder / "other.jsonl"
    other.write_text('{"id": "q9", "question": "Who painted?", "supporting_passage_ids": ["p2"]}\n')
    assert silent("eval", folder, "--questions", other, "--strategies", "chunk")["questions"] == 1


def test_questions(place: Path, tmp_path: Path) -> None:
    rows = [{"id": item.uri, "title": item.title, "text": item.text} for item in DOCUMENTS]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    silent("ingest", tmp_path / "rows.jsonl", "--corpus", "asked")
    file = tmp_path / "asked.jsonl"
    made = call(
        "questions", "make", "--corpus", "asked", "--count", 6, "--kinds", "bridge", "--out", file, "--json"
    ).tree
    assert made["questions"] == made["by_kind"]["bridge"] > 0
    assert_snapshot("questions-make", made)
    spoilt = file.read_text().replace('"answers": ["', '"answers": ["not ')
    (tmp_path / "spoilt.jsonl").write_text(spoilt)
    found = silent("questions", "check", tmp_path / "spoilt.jsonl", code=1)
    assert found["by_finding"] == {"answer": made["questions"]}
    assert_snapshot("questions-check", found)
    assert_snapshot("questions-export", silent("questions", "export", file, "--to", tmp_path / "set"))


def test_align(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _evaluation_set(tmp_path / "aligned")
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    answers = (["Mara Quill"], ["Ivo Brandt"])
    for row, some in zip(rows, answers, strict=True):
        row["answers"] = some
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def reason(system: str, user: str) -> str:
        name = "Mara Quill" if user.rstrip().splitlines()[-2] == "Mara Quill" else "Ivo Brandt"
        said = f"{name} did it, as is well known" if "(none)" in user else f"{name} did it [1]"
        return f"###Reason: {said}.\n###Answer: {name}"

    asked = ScriptedChat(reason, name="a:b")
    monkeypatch.setattr(choose, "chosen_chat", lambda name, names: asked)
    make = ("align", "make", folder, "--out", tmp_path / "pairs", "--held-out", "0.5", "--contexts", "1", "-s", "chunk")
    planned = silent(*make, "--chat", "a:b", "--plan")
    assert (planned["tasks"], planned["models"][0]["calls"], len(asked.asked)) == (4, 4, 0)
    assert_snapshot("align-make-plan", planned)
    made = silent(*make, "--chat", "a:b")
    assert len(asked.asked) == 4
    assert made["questions"] == {"train": 1, "held_out": 1}
    assert made["pairs"]["train"] == made["pairs"]["by_negative"]["bare"] - made["pairs"]["held_out"] > 0
    assert_snapshot("align-make", made)
    audited = silent("align", "audit", tmp_path / "pairs", code=1)
    assert audited["length"]["auc"] == 1
    assert audited["findings"][0]["name"] == "length"
    assert_snapshot("align-audit", audited)
    assert "AUC 1.000" in call("align", "audit", tmp_path / "pairs", "--max-length-auc", "2").out
    for command in ("train", "compare"):
        out = ("--out", tmp_path / "trained")
        told = call("align", command, tmp_path / "pairs", "--model", "nowhere", *out, "--json")
        assert (told.code, told.error["type"]) == (4, "MissingExtraError")
        assert "pip install 'hlgraph[align]'" in told.error["message"]
    assert not (tmp_path / "trained").exists()


@pytest.fixture
def chat(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A chat model by HTTP, named in the environment."""
    with HTTPServer() as running:
        made = ChatServer(running)
        monkeypatch.setenv("HLGRAPH_CHAT", MODEL)
        monkeypatch.setenv("HLGRAPH_CHAT_URL", made.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield made


def test_plan_ledger_and_what_costs(place: Path, chat: ChatServer) -> None:
    bridge = place / "docs" / "halfmoon-bridge.md"
    chosen = ("--corpus", "paid")
    unpriced = silent("plan", bridge, *chosen)
    priced = silent("plan", bridge, place / "docs" / "cut.json", "--chat", "openai:gpt-4o-mini", *chosen, code=1)
    assert (unpriced["calls"], unpriced["usd"], chat.calls) == (2 * unpriced["chunks"], None, 0)
    assert priced["usd"] > 0
    assert_snapshot("plan", unpriced, priced)
    ingested = silent("ingest", bridge, "--extract", "chat", "--max-tokens", 10**6, *chosen)
    assert ingested["usage"]["calls"] == chat.calls == unpriced["calls"]
    assert_snapshot("ingest-chat", ingested)
    answer = silent("answer", QUESTION, "--max-tokens", 10**6, *chosen)
    assert answer["made_by"] == f"answer/1+{MODEL}"
    ledger = silent("ledger", *chosen)
    assert {line["name"]: line["calls"] for line in ledger["lines"]} == {"extract": chat.calls - 1, "answer": 1}
    assert (ledger["all"]["usd"], ledger["all"]["unpriced_calls"]) == (None, chat.calls)
    assert_snapshot("ledger", ledger)
    silent("delete", "--all", *chosen)


def test_the_plan_of_a_report_and_what_the_report_says_that_it_cost(place: Path, chat: ChatServer) -> None:
    chat.fault = lambda number, asked: (
        "The bridge was rebuilt [1]."
        if asked.system.startswith("You write a report")
        else f"80 | It was rebuilt. [{re.findall(r'^.([0-9]+).', asked.user, re.MULTILINE)[0]}]"
    )
    asked = (QUESTION, "--strategy", "global", "--mode", "report", "--set", "global.anchors=5")
    plan = silent("plan", "--question", *asked)
    assert chat.calls == 0
    told = call("plan", "--question", *asked).out
    assert f"calls: {plan['calls']} of {MODEL} (0 of the search, {plan['calls']} of the answer)" in told
    report = silent("answer", *asked)
    assert (report["report"]["calls"], report["report"]["anchors"]) == (plan["calls"], plan["anchors"])
    assert report["search"]["by"] == plan["by"] == "rules"
    lines = call("answer", *asked).out  # from the replies that were kept
    assert f"  chat model: 0 calls, 0 tokens in, 0 out, {plan['calls']} more answered from stored replies" in lines
    assert f"  report: {plan['anchors']} of {plan['anchors']} anchors" in lines
    assert_snapshot("plan-answer", plan)
    assert_snapshot("answer-report", report)


def test_failures(place: Path, chat: ChatServer) -> None:
    paid = ("--corpus", "failed")
    assert silent("failures", "list", *paid) == {"failures": []}
    chat.fault = lambda number, asked: "no"
    documents = place / "docs" / "halfmoon-bridge.md"
    silent("ingest", documents, "--extract", "chat", *paid, code=1)
    listed = silent("failures", "list", *paid)
    names = [item["id"] for item in listed["failures"]]
    assert names
    shown = silent("failures", "show", names[0], *paid)
    assert {key: shown[key] for key in listed["failures"][0]} == listed["failures"][0]
    again = silent("failures", "retry", names[0], *paid, code=1)
    assert (again["mended"], again["usage"]["calls"]) == ([], 2)
    reply = place / "reply.json"
    reply.write_text('{"propositions": [{"text": "The Halfmoon Bridge is long.", "entities": ["Nobody"]}]}')
    accepted = silent("failures", "accept", names[0], "--file", reply, *paid)
    assert (accepted["mended"], accepted["added"]["statements"], accepted["left_out"]) == ([names[0]], 1, [])
    chat.fault = lambda number, asked: None
    mended = silent("failures", "retry", "--all", *paid)
    assert sorted(mended["mended"]) == sorted(names[1:])
    assert silent("ingest", documents, "--extract", "chat", *paid)["sources"]["unchanged"] == 1
    assert_snapshot("failures-list", listed)
    assert_snapshot("failures-show", shown)
    assert_snapshot("failures-retry", again, mended)
    assert_snapshot("failures-accept", accepted)
    silent("delete", "--all", *paid)


def test_quality(place: Path, chat: ChatServer) -> None:
    whole = silent("quality", "coverage")
    bridge = silent("quality", "coverage", "--source", place / "docs" / "halfmoon-bridge.md", "--show", "--share", 1)
    assert (whole["share"], len(whole["sources"]), len(bridge["sources"])) == (1.0, 2, 1)
    assert_snapshot("quality-coverage", whole)
    by_words = silent("quality", "faithfulness", "--sample", 30, "--by", "words")
    assert (by_words["sampled"], by_words["offenders"]) == (30, [])
    numbers = re.compile(r"^\[(\d+)\]\n<statement ", re.MULTILINE)
    verdict = {"is_accurate": False, "reason": "No."}
    chat.fault = lambda number, asked: json.dumps(
        {"verdicts": [{"number": int(each), **verdict} for each in numbers.findall(asked.user)]}
    )
    by_model = silent("quality", "faithfulness", "--sample", 2)
    assert (by_model["sampled"], len(by_model["offenders"]), by_model["unjudged"]) == (2, 2, [])
    chat.fault = lambda number, asked: '{"entities": []}' if asked.is_for_entities else '{"propositions": []}'
    silent("ingest", place / "docs" / "halfmoon-bridge.md", "--extract", "chat", "--corpus", "silent")
    nothing = silent("quality", "coverage", "--corpus", "silent", "--show")
    assert nothing["share"] == 0.0
    assert len(nothing["sources"][0]["uncovered"]) == nothing["sentences"] > 0
    assert_snapshot("quality-coverage-show", nothing)
    silent("delete", "--all", "--corpus", "silent")
    assert_snapshot("quality-faithfulness-words", by_words)
    assert_snapshot("quality-faithfulness-model", by_model)


def test_an_answer_that_is_verified(place: Path, chat: ChatServer) -> None:
    said = "Jonas Querl designed the Halfmoon Bridge [1]. It fell in 1999 [1][99]."
    chat.fault = lambda number, asked: "1 | SUPPORTED\n2 | UNSUPPORTED" if "Its evidence" in asked.user else said
    flagged = silent("answer", QUESTION, "--context-tokens", 200)
    assert [item["is_supported"] for item in flagged["sentences"]] == [True, False]
    assert (flagged["checked_by"], flagged["left_out"] > 0) == ("lexical", True)
    dropped = silent("answer", QUESTION, "--verify", "chat", "--unsupported", "drop")
    assert dropped["answer"] == "Jonas Querl designed the Halfmoon Bridge [1]."
    assert (dropped["checked_by"], len(dropped["dropped"])) == (f"judge/1+{MODEL}", 1)
    assert_snapshot("answer-chat", flagged, dropped)
    for line in call("answer", QUESTION, "--unsupported", "drop").out.splitlines()[-2:]:
        assert line.startswith(("  dropped (the evidence has no 1999): It fell in 1999", "  dropped: 1 citations"))


def test_bench(place: Path) -> None:
    tree = silent("bench", "--statements", "50,100", "--strategies", "chunk,topic", "--questions", 3)
    assert [(cell["statements"], cell["strategy"]) for cell in tree["cells"]] == [
        *((50, "chunk"), (50, "topic"), (100, "chunk"), (100, "topic"))
    ]
    assert set(tree["growth"]) == {"chunk", "topic"}
    assert_snapshot("bench", tree)


def test_eval_says_what_could_not_be_ingested(place: Path) -> None:
    folder = _evaluation_set(place / "holed")
    with (folder / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"id": "p3", "title": "", "text": ""}\n')
    done = call("eval", folder, "--strategies", "chunk", "--json")
    assert done.code == 1
    assert "not ingested" in done.err
    assert done.tree["questions"] == 2


# Exit codes and errors


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        (("search",), "UsageError", "Missing argument 'QUESTION'. (see: hlgraph search --help)"),
        (("search", "x", "--nope"), "UsageError", "No such option: --nope"),
        (("search", "x", "--k", "many"), "UsageError", "--k"),
        (("search", "x", "--mode", "magic"), "UsageError", "'magic' is not one of 'vector', 'text', 'hybrid'"),
        (("stats", "--store", "x"), "UsageError", "--store goes before the command"),
        (("sarch", "x"), "UsageError", "Did you mean 'search'"),
        (("migrate", "undo"), "UsageError", "'undo' is not one of"),
        (("search", "  "), "InputError", "empty"),
        (("search", "x", "--k", "0"), "InputError", "k is 0"),
        (("search", "x", "--diversity", "2"), "InputError", "diversity is 2.0"),
        (("search", "x", "--strategy", "chunks"), "UnknownNameError", "did you mean 'chunk'"),
        (("search", "x", "--corpus", "nowhere"), "UnknownNameError", "or name another"),
        (("search", "x", "--where", "yaer > 3"), "WhereError", "yaer"),
        (
            ("ingest", ".", "--extract", "chat"),
            "InputError",
            "extraction by a chat model needs one; name it in HLGRAPH_CHAT",
        ),
        (("search", QUESTION, "--picture", "nowhere/x.html"), "InputError", "give a file in an existing folder"),
        (("ingest", ".", "--extract", "magic"), "UnknownNameError", "choose local, spacy, precomputed or chat"),
        (("ingest", ".", "--extract", "precomputed"), "InputError", "--extractions"),
        (("ingest", ".", "--map", "text"), "InputError", "text=body"),
        (("ingest", ".", "--map", "text= "), "InputError", "text=body"),
        (("ingest", ".", "--format", "docs"), "UnknownNameError", "docs"),
        (("ingest", ".", "--encoding", "klingon"), "InputError", "klingon"),
        (("delete",), "InputError", "one way"),
        (("delete", "--all", "--where", "year = 1"), "InputError", "one way"),
        (("delete", "file:///nowhere.txt"), "UnknownNameError", "nothing was deleted"),
        (("--store", "nothing://x", "stats"), "UnknownNameError", "hlgraph://"),
        (("--config", "nowhere.yaml", "config"), "SettingsError", "nowhere.yaml"),
        (("cypher", "show", "what_connect"), "UnknownNameError", "did you mean what_connects?"),
        (("cypher", "run", "what_connects"), "InputError", "needs source"),
        (("cypher", "run", "rank_entities"), "InputError", "the embedded store has no Cypher"),
        (("materialise", "co_occurs"), "InputError", "is an embedded store, which has no Cypher"),
        (("materialise", "relates"), "UsageError", "is not one of 'co_occurs'"),
        (("eval", "nowhere"), "InputError", "nowhere"),
        (("eval", "nowhere", "--strategies", ","), "UnknownNameError", "no strategy is named"),
        (
            ("eval", "nowhere", "--preset", "best"),
            "UnknownNameError",
            "choose one of: fast, literal, paper, plain, tuned",
        ),
        (("eval", "nowhere", "--save", "nowhere/run.json"), "InputError", "the folder nowhere does not exist"),
        (("bench", "--statements", "many"), "InputError", "not a list of numbers"),
        (("bench", "--statements", ","), "InputError", "holds no number"),
        (("bench", "--statements", "105"), "InputError", "multiple of 10"),
        (("bench", "--questions", "0"), "InputError", "at least one"),
        (("plan", "."), "InputError", "name it in HLGRAPH_CHAT"),
        (("plan",), "InputError", "give the sources of an ingest, or --question"),
        (
            ("plan", ".", "--question", QUESTION),
            "InputError",
            "PATH is about an ingest, and --question about an answer",
        ),
        (("plan", ".", "--by", "chat"), "InputError", "--by is about an answer; give its question with --question"),
        (("plan", "--question", QUESTION), "InputError", "a plan needs the name of a chat model"),
        (("search", "x", "--by", "model"), "UsageError", "'model' is not one of 'rules', 'chat'"),
        (("search", "x", "--by", "chat"), "InputError", "by is 'chat', and no chat model is configured; name one in"),
        (
            ("answer", "x", "--by", "chat", "--strategy", "chunk"),
            "InputError",
            "by is 'chat', and the strategy chunk has no step that a chat model can take; leave it out",
        ),
        (("search", "x", "--set", "cycles=1"), "InputError", "is not a parameter with values"),
        (("search", "x", "--set", "local.cycles=1"), "UnknownNameError", "--strategy asks auto"),
        (
            ("search", "x", "-s", "local", "--set", "local.cycles=1,2"),
            "InputError",
            "compare several with: hlgraph eval",
        ),
        (
            ("answer", "x", "-s", "global", "--set", "global.anchors=0"),
            "InputError",
            "anchors is 0; it must be at least 1",
        ),
        (("align", "audit", "nowhere"), "ReadError", "nowhere: it cannot be read"),
        (("align", "make", "nowhere", "--out", "x"), "InputError", "nowhere: no such folder"),
        (("ledger", "--by", "day"), "UsageError", "'day' is not one of"),
        (("failures", "show", "abcd"), "UnknownNameError", "corpus 'default' has no failure 'abcd'"),
        (("failures", "retry"), "InputError", "either the ids of the failures to retry, or --all"),
        (("failures", "retry", "--all"), "InputError", "name it in HLGRAPH_CHAT"),
        (("failures", "accept", "abcd"), "InputError", "either --file with the corrected reply, or --drop"),
        (("failures", "accept", "abcd", "--file", "nowhere.json"), "InputError", "No such file"),
        (("quality", "coverage", "--source", "nowhere.md"), "UnknownNameError", "nothing was measured"),
        (("quality", "coverage", "--share", "2"), "InputError", "share is 2.0"),
        (("quality", "coverage", "--corpus", "nowhere"), "UnknownNameError", "there is no corpus 'nowhere'"),
        (("quality", "faithfulness", "--sample", "0"), "InputError", "sample is 0"),
        (("quality", "faithfulness", "--by", "me"), "UnknownNameError", "choose one of auto, model, words"),
        (("quality", "faithfulness", "--by", "model"), "InputError", "needs one"),
        (("ingest", ".", "--max-tokens", "5"), "InputError", "extraction by 'local' costs nothing"),
        (("ingest", ".", "--extract", "chat", "--max-usd", "0"), "InputError", "choose a number above 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_2_and_one_line(place: Path, arguments: tuple[str, ...], kind: str, says: str) -> None:
    told = call(*arguments, "--json")
    assert told.code == 2
    assert (told.error["type"], told.error["retryable"]) == (kind, False)
    assert says in told.error["message"]
    plain = call(*arguments)
    assert (plain.code, plain.out) == (2, "")
    if "nope" not in arguments:
        assert plain.err == f"hlgraph: {told.error['message']}\n"


def test_the_error_for_scripts_has_one_shape(place: Path) -> None:
    assert_snapshot("error", json.loads(call("search", "x", "--corpus", "nowhere", "--json").err))


def test_a_source_that_fails_is_1(place: Path) -> None:
    (place / "lost.txt").symlink_to(place / "nowhere.txt")
    done = call("ingest", place / "lost.txt")
    assert done.code == 1
    assert "1 failed" in done.out
    assert "does not exist" in done.out
    (place / "lost.txt").unlink()


def test_a_store_that_is_being_written_is_3(place: Path) -> None:
    opened = open_stores(f"hlgraph://{place}/store")
    with opened.closing, opened.stores.graph.lock():
        done = call("ingest", place / "docs", "--wait", "0", "--json")
        assert done.code == 3
        assert (done.error["type"], done.error["retryable"]) == ("StoreLockedError", True)
        assert call("stats").code == 0
    assert call("ingest", place / "docs").code == 1


def test_a_model_that_is_not_installed_is_4(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_MODELS", str(tmp_path))
    done = call("search", QUESTION, "--json")
    assert done.code == 4
    assert done.error["type"] == "ModelMissingError"
    assert "hlgraph models install" in done.error["message"]
    assert "no model is installed; run: hlgraph models install" in call("models", "list").out


def test_a_store_of_a_newer_hlgraph_is_5(place: Path, tmp_path: Path) -> None:
    store = f"hlgraph://{tmp_path}/new"
    silent("--store", store, "migrate", "apply")
    with contextlib.closing(sqlite3.connect(tmp_path / "new" / "hlgraph.db")) as connection:
        connection.execute("INSERT INTO migration VALUES (99, 'later', '', '2040-01-01', '9.0')")
        connection.commit()
    done = call("--store", store, "migrate", "--json")
    assert done.code == 5
    assert done.error["type"] == "MigrationError"


def test_what_the_system_refuses_is_5(place: Path) -> None:
    done = call("init", "x" * 300, "--json")
    assert (done.code, done.error["type"]) == (5, "OSError")


def test_a_mistake_of_ours_is_5_with_a_traceback(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: HLGraph, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(HLGraph, "stats", broken)
    done = call("stats", "--json")
    assert done.code == 5
    assert "Traceback" in done.err
    assert json.loads(done.err.splitlines()[-1])["error"]["type"] == "ZeroDivisionError"
