"""A corpus with a history answers as at a moment of the past, in the embedded store; test_history_servers.py has the servers."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import call
from thoroughness import cases

import hlgraph
from hlgraph.errors import AccessError, HoldError, InputError, ModelMismatchError, UnknownNameError, WhereError
from hlgraph.ingest import delete, history
from hlgraph.ingest.delete import Deletion
from hlgraph.records import Document, Kind, Source
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.embedded.graph import EmbeddedGraphStore
from hlgraph.stores.protocols import GraphStore, Scope, by_id
from hlgraph.testing.embedder import WordEmbedder

QUESTION = "Who leads the Aldane Works?"
LEADERS = ("Mara Quill", "Ivo Brandt", "Petra Voss", "Una Moss", "Jonas Querl")
OTHER = Document("doc:mill", "The Vessel Mill was bought by Edda Thorn in 1901.", metadata={"year": 1901})


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.chdir(tmp_path)
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder()) as opened:
        yield opened


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def works(leader: str, **metadata: Any) -> Document:
    return Document("doc:works", f"{leader} leads the Aldane Works. The works stand in Tessing.", metadata=metadata)


def shown(graph: HLGraph, as_of: Any = None, strategy: str = "auto", **options: Any) -> list[tuple[str, str, float]]:
    result = graph.search(QUESTION, strategy=strategy, as_of=as_of, **options)
    return [(piece.text, piece.source.uri, round(piece.score, 5)) for piece in result.evidence]


def edited(graph: HLGraph) -> list[tuple[str, int]]:
    """Edit a source five times; returns an instant and the version of the corpus after each edit."""
    moments = []
    for leader in LEADERS:
        graph.ingest([works(leader), OTHER], keep_history=True)
        moments.append((datetime.now(UTC).isoformat(), graph.stats()[0].version))
    return moments


@pytest.mark.parametrize("strategy", ["auto", "statement", "topic_graph", "chunk"])
def test_each_edit_is_found_at_its_time_as_it_was_found_then(graph: HLGraph, strategy: str) -> None:
    then: list[Any] = []
    moments = []
    for leader in LEADERS:
        graph.ingest([works(leader), OTHER], keep_history=True)
        moments.append((datetime.now(UTC), graph.stats()[0].version))
        then.append({one[:2] for one in shown(graph, strategy=strategy)})
    for leader, (at, number), before in zip(LEADERS, moments, then, strict=True):
        for as_of in (at, at.isoformat(), number):
            past = shown(graph, as_of, strategy)
            assert {one[:2] for one in past} == before
            assert leader in past[0][0]


@pytest.mark.parametrize("seed", range(cases(2, 40)))
def test_the_past_of_random_changes_is_what_was_found_then(graph: HLGraph, seed: int) -> None:
    """Texts, sources, metadata and scores, by time and by version, with and without a filter."""
    random = Random(seed)
    names, verbs, things = LEADERS[:3], ("leads", "sold", "left"), ("Aldane Works", "Vessel Mill", "Orne Hall")
    uris = [f"doc:{number}" for number in range(4)]

    def found(as_of: Any = None) -> list[Any]:
        results = []
        for strategy, where in product(("statement", "chunk", "topic_graph", "path"), (None, "k = 1")):
            try:
                pieces = graph.search(QUESTION, strategy=strategy, where=where, k=50, as_of=as_of).evidence
            except (UnknownNameError, WhereError):
                pieces = ()
            rows = [(one.text, one.source.uri, one.source.metadata["k"], round(one.score, 4)) for one in pieces]
            results.append(sorted(rows))
        return results

    graph.history.keep()
    then = []
    for step in range(6):
        with contextlib.suppress(UnknownNameError):
            if step and random.random() < 0.3:
                graph.delete(random.choice(uris))
            else:
                graph.ingest(
                    Document(
                        uri,
                        " ".join(
                            f"{random.choice(names)} {random.choice(verbs)} the {random.choice(things)}." for _ in "123"
                        ),
                        metadata={"k": random.randrange(3)},
                    )
                    for uri in random.sample(uris, random.randint(1, 4))
                )
        then.append((datetime.now(UTC), graph.stats()[0].version, found()))
    for at, number, before in then:
        assert found(at) == before
        assert found(number) == before
    stores = graph.ingestion.opened.stores
    whole = stores.graph.stats("default@history")[0].records
    with pytest.MonkeyPatch.context() as patch:  # as if the store told nothing: every source is compared
        patch.setattr(EmbeddedGraphStore, "altered", GraphStore.altered)
        history.record(stores, "default", is_due=True)
    assert stores.graph.stats("default@history")[0].records == whole


def test_an_edit_is_compared_with_its_own_versions_alone(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = EmbeddedGraphStore.find

    def counted(self: Any, kind: Kind, scope: Any) -> Any:
        records = list(real(self, kind, scope))
        read.append(len(records) if (kind, scope) == (Kind.SOURCE, Scope("default@history")) else 0)
        return iter(records)

    graph.ingest([works("Mara Quill"), OTHER], keep_history=True)
    monkeypatch.setattr(EmbeddedGraphStore, "find", counted)
    for leader in (*LEADERS, *LEADERS):  # more versions than are looked up at once
        graph.ingest([works(leader, k=7)])
    graph.groups.set("board", uris="doc:works")
    assert sum(read) == 0
    assert len(graph.history.versions("doc:works")) == 11
    caller = graph.as_caller({"board"})
    assert "Mara Quill" in shown(caller, graph.history.versions("doc:works")[0].valid_from)[0][0]
    graph.delete("doc:mill")
    assert sum(read) == 0
    assert graph.history.versions("doc:mill")[0].valid_to is not None


@pytest.mark.parametrize("seed", range(cases(1, 20)))
def test_what_commands_record_is_what_a_comparison_of_all_sources_records(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance, left = Random(seed), [0]
    uris = [f"file:///d/{at % 3}/{at}.md" for at in range(6)] + ["file:///d/t.csv#1", "file:///d/t.csv#2"]
    stores = graph._opened.stores

    def document(uri: str) -> Document:
        metadata: dict[str, Any] = {"k": chance.randrange(3), "acl": chance.choice(("a", "b"))}
        return Document(
            uri, f"{chance.choice(LEADERS)} left Orne in {chance.randrange(1900, 1999)}.", metadata=metadata
        )

    def versions() -> dict[str, tuple[str, int, Any]]:
        sources = by_id(stores.graph.find(Kind.SOURCE, Scope("default@history")), Source).values()
        return {one.id: (one.uri, one.version, one.metadata) for one in sources if one.uri != history.HISTORY_MARK}

    for module in (delete, history):
        monkeypatch.setattr(module, "persist", killing(module.persist, left))
    graph.ingest(map(document, uris), keep_history=True)
    for step in range(40):
        some = [uri.removeprefix(chance.choice(("file://", "-"))) for uri in chance.sample(uris, chance.randint(1, 3))]
        command = chance.choice(
            (
                partial(graph.ingest, [document(uri) for uri in chance.sample(uris, 3)]),
                partial(graph.delete, some, history=chance.random() < 0.5),
                partial(graph.delete, chance.choice(("/d/t.csv", "/d/1"))),
                partial(graph.delete, where=f"k = {chance.randrange(3)}"),
                partial(graph.groups.set, chance.choice("ab"), uris=some),
            )
        )
        left[0] = chance.choice((0, 0, 0, 1, 2, 3))
        with contextlib.suppress(KeyboardInterrupt, UnknownNameError, WhereError):
            command()
        left[0] = 0
        history.synchronise(stores, "default")
        recorded = versions()
        with monkeypatch.context() as patch:  # as if the store told nothing: every source is compared
            patch.setattr(EmbeddedGraphStore, "altered", GraphStore.altered)
            history.record(stores, "default", is_due=True)
        assert versions() == recorded, (step, command)
        if step % 2:
            history.record(stores, "default", is_due=True)  # else the next command compares all


def killing(real: Any, left: list[int]) -> Any:
    """The function, whose call of this number is a kill; 0: none."""

    def call(*given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return real(*given, **options)

    return call


def test_evidence_and_answers_name_the_version(graph: HLGraph) -> None:
    moments = edited(graph)
    first, *_, last = graph.history.versions("doc:works")
    assert [version.number for version in graph.history.versions("doc:works")] == [1, 2, 3, 4, 5]
    assert (last.valid_to, last.version_to) == (None, None)
    piece = graph.search(QUESTION, as_of=moments[0][0], where="uri = 'doc:works'", explain=True).evidence[0]
    assert (piece.source.uri, piece.source.version) == ("doc:works", 1)
    assert (piece.source.valid_from, piece.source.valid_to) == (first.valid_from, first.valid_to)
    answer = graph.answer(QUESTION, as_of=moments[1][1])
    assert "Ivo Brandt" in answer.text
    assert "Jonas Querl" in graph.answer(QUESTION).text
    assert [version.valid_from for version in graph.history.versions("doc:mill")] == [first.valid_from]


def test_a_deleted_source_is_found_before_it_was_deleted(graph: HLGraph) -> None:
    graph.ingest([works("Mara Quill"), OTHER], keep_history=True)
    before = datetime.now(UTC)
    report = graph.delete("doc:works")
    assert report.kept_in_history == 1
    assert not any("Quill" in text for text, *_ in shown(graph))
    assert "Quill" in shown(graph, before)[0][0]
    assert not any("Quill" in text for text, *_ in shown(graph, datetime.now(UTC)))
    graph.ingest([works("Mara Quill")])
    spans = [(version.valid_from, version.valid_to) for version in graph.history.versions("doc:works")]
    assert spans[0][0] < str(spans[0][1]) < spans[1][0]


def test_groups_of_today_hold_in_the_past(graph: HLGraph) -> None:
    graph.ingest([works("Mara Quill", acl="public"), OTHER], keep_history=True)
    before = datetime.now(UTC)
    graph.ingest([works("Ivo Brandt", acl="public")])
    public, board = graph.as_caller({"public"}), graph.as_caller({"board"})
    assert {uri for _, uri, _ in shown(public, before)} == {"doc:works"}
    assert shown(board, before) == []
    graph.groups.set("board", uris="doc:works")
    assert shown(public, before) == []
    assert "Quill" in shown(board, before)[0][0]
    assert len(graph.history.versions("doc:works")) == 2
    with pytest.raises(AccessError):
        shown(graph, before)
    with pytest.raises(InputError, match="operators"):
        shown(public, 1)
    with pytest.raises(AccessError):
        _ = public.history


@pytest.mark.parametrize("groups", [("public",), ()])
def test_a_killed_change_of_groups_holds_in_the_past_at_once(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, groups: tuple[str, ...]
) -> None:
    metadata = {"acl": groups} if groups else {}
    graph.ingest([works("Mara Quill", **metadata), OTHER], keep_history=True)
    before = datetime.now(UTC)
    with monkeypatch.context() as patch:
        patch.setattr(history._Synchronisation, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            graph.groups.set("board", uris="doc:works")
    for _ in range(2):
        assert shown(graph.as_caller({"public"}), before) == []
        assert graph.as_caller({"public"}).sources.list(as_of=before).total == 0
        assert "Quill" in shown(graph.as_caller({"board"}), before)[0][0]
        assert graph.as_caller({"board"}).sources.list(as_of=before).total == 1
        assert "no evidence" not in graph.as_caller({"board"}).answer(QUESTION, as_of=before).text
        with pytest.raises(AccessError, match="a caller must be named"):
            shown(graph, before)
        graph.groups.set("board", uris="doc:works")  # again: now the history has it, too


def test_evidence_of_the_past_names_no_version_of_the_corpus(graph: HLGraph) -> None:
    at, _ = edited(graph)[1]
    evidence = graph.search("mill", as_of=at, k=9).evidence
    assert {piece.source.uri: dict(piece.source.metadata) for piece in evidence} == {
        "doc:works": {},
        "doc:mill": {"year": 1901},
    }
    with pytest.raises(WhereError, match="as_of"):
        graph.search("mill", as_of=at, where="year = 1901 or history_version_from > 1")
    caller = graph.as_caller({"public"})
    for ask in (caller.sources.list, caller.facts.list, lambda as_of: caller.search("mill", as_of=as_of)):
        with pytest.raises(InputError, match=r"begins at [^ ]+;"):
            ask(as_of="2020-01-01")
    with pytest.raises(AccessError, match="as_of"):
        graph.in_corpus("default@history").as_caller({"public"})


@pytest.mark.parametrize("step", ["synchronise", "persist"])
def test_a_kill_before_a_change_is_recorded_loses_no_version(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    graph.ingest([works("Mara Quill"), OTHER], keep_history=True)
    number = graph.stats()[0].version
    with monkeypatch.context() as patch:
        patch.setattr(
            history._Synchronisation if step == "synchronise" else history,
            "run" if step == "synchronise" else step,
            killed,
        )
        with pytest.raises(KeyboardInterrupt):
            graph.ingest([works("Ivo Brandt")])
    graph.ingest([works("Ivo Brandt")])
    graph.ingest([works("Petra Voss")])
    assert [version.number for version in graph.history.versions("doc:works")] == [1, 2, 3]
    assert "Quill" in shown(graph, number)[0][0]
    assert "Ivo" in shown(graph, number + 1)[0][0]
    assert "Petra" in shown(graph, number + 2)[0][0]
    assert all(finding.is_fine for finding in graph.check())


def test_the_history_of_a_corpus_that_exists_begins_when_it_is_kept(graph: HLGraph) -> None:
    graph.ingest([works("Mara Quill"), OTHER])
    early = datetime.now(UTC)
    with pytest.raises(InputError, match="--keep-history"):
        shown(graph, early)
    with pytest.raises(InputError, match="--keep-history"):
        graph.history.versions("doc:works")
    graph.history.keep()
    graph.history.keep()
    graph.ingest([works("Ivo Brandt")])
    assert len(graph.history.versions("doc:works")) == 2
    with pytest.raises(InputError, match="begins at"):
        shown(graph, early)
    assert "Quill" in shown(graph, 1)[0][0]


@pytest.mark.parametrize(
    "as_of", ["soon", "", "2024-13-01", True, -1, 10_000, datetime.now(UTC) + timedelta(days=2), date(1999, 1, 1)]
)
def test_a_moment_that_cannot_be_asked_is_refused(graph: HLGraph, as_of: Any) -> None:
    edited(graph)
    with pytest.raises(InputError, match="as_of"):
        shown(graph, as_of)


def test_the_present_day_is_now(graph: HLGraph) -> None:
    edited(graph)
    assert "Jonas Querl" in shown(graph, datetime.now(UTC).date())[0][0]


def test_a_clock_that_goes_backwards_gives_no_empty_span(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(datetime):
        days = 0

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            cls.days -= 1
            return datetime.now(tz) + timedelta(days=cls.days)

    with monkeypatch.context() as patch:
        patch.setattr(history, "datetime", Slow)
        edited(graph)
    versions = graph.history.versions("doc:works")
    assert all(version.valid_to is None or version.valid_from < version.valid_to for version in versions)
    assert [version.valid_from for version in versions] == sorted(version.valid_from for version in versions)
    assert "Petra Voss" in shown(graph, versions[2].valid_from)[0][0]


def test_a_difference_lists_what_came_and_went(graph: HLGraph) -> None:
    moments = edited(graph)
    graph.delete("doc:mill")
    graph.ingest([Document("doc:hall", "Edda Thorn opened the Orne Hall.")])
    diff = graph.history.diff(moments[3][0])
    assert (diff.sources_added, diff.sources_removed, diff.sources_changed) == (
        ("doc:hall",),
        ("doc:mill",),
        ("doc:works",),
    )
    assert ("doc:works", "Jonas Querl leads the Aldane Works.") in diff.statements_added
    assert not any("stand in Tessing" in said.text for said in (*diff.statements_added, *diff.statements_removed))
    assert any("Una Moss" in fact for fact in diff.facts_removed)
    assert not any("Una Moss" in fact for fact in diff.facts_added)
    assert graph.history.diff(moments[2][1], moments[2][1]) == type(diff)((), (), (), (), (), (), ())


def test_the_counts_of_a_moment_are_those_of_then(graph: HLGraph) -> None:
    then = []
    for leader in LEADERS[:3]:
        graph.ingest([works(leader, rank=1) if leader == LEADERS[1] else works(leader), OTHER], keep_history=True)
        (stats,) = graph.stats()
        then.append((datetime.now(UTC), stats.version, stats.records, set(stats.fields)))
    graph.delete("doc:mill")
    for at, number, records, fields in then:
        for as_of in (at, number):
            (past,) = graph.stats(as_of=as_of)
            counted = {kind: records[kind] for kind in past.records}
            assert (dict(past.records), set(past.fields)) == (counted, fields)
    with pytest.raises(InputError, match="everything"):
        graph.stats(everything=True, as_of=then[0][0])
    shown = call("--store", "hlgraph://./store", "stats", "--as-of", str(then[0][1])).out
    assert f"as of {then[0][1]}" in shown
    assert "source 2" in shown


def test_change_sets_say_what_each_command_did(graph: HLGraph) -> None:
    moments = edited(graph)[:2]
    graph.groups.set("board", uris="doc:works")  # changes no version
    graph.delete("doc:mill")
    first, second, *_, last = graph.history.changes()
    assert [change.id for change in (first, second)] == [number for _, number in moments]
    assert (first.version_before, second.version_before) == (None, first.id)
    assert (first.sources_added, first.sources_changed) == (("doc:mill", "doc:works"), ())
    assert (second.sources_changed, second.statements_added, second.statements_removed) == (("doc:works",), 1, 1)
    assert second.facts_added == second.facts_removed == 1
    assert (last.sources_removed, last.sources_changed, last.statements_added) == (("doc:mill",), (), 0)
    assert len(graph.history.changes()) == len(LEADERS) + 1
    assert graph.history.changes(2)[1] == last
    assert graph.history.diff_of(second.id).statements_added == (("doc:works", "Ivo Brandt leads the Aldane Works."),)
    with pytest.raises(UnknownNameError, match="history changes"):
        graph.history.diff_of(last.id + 1)
    with pytest.raises(InputError):
        graph.history.changes(0)
    graph.delete("doc:mill", history=True)
    assert not any("doc:mill" in repr(change) for change in graph.history.changes())


def test_a_command_asks_once_whether_a_history_is_kept(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = EmbeddedGraphStore.stats

    def counted(self: Any, corpus: str | None = None, **options: Any) -> Any:
        asked.append(corpus or "")
        return real(self, corpus, **options)

    monkeypatch.setattr(EmbeddedGraphStore, "stats", counted)
    for run in (
        lambda: graph.ingest([works("Mara Quill"), OTHER]),
        lambda: graph.groups.set("board", uris="doc:works"),
        lambda: graph.delete("doc:works"),
    ):
        asked.clear()
        run()
        assert asked.count("default@history") == 1


def _bytes_with(text: str) -> list[str]:
    return [path.name for path in Path("store").rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.parametrize("is_present", [True, False])
def test_erased_history_leaves_no_byte(graph: HLGraph, is_present: bool) -> None:
    text = "The strongroom of the works has the number 40771-XQ."
    graph.ingest([Document("doc:works", text), OTHER], keep_history=True)
    moment = datetime.now(UTC)
    graph.ingest([works("Ivo Brandt")])
    if not is_present:
        graph.delete("doc:works")
    assert _bytes_with("40771-XQ")
    report = graph.delete("doc:works", history=True)
    assert (report.versions_removed, report.sources_removed) == (2, int(is_present))
    assert _bytes_with("40771-XQ") == []
    assert {uri for _, uri, _ in shown(graph, moment)} == {"doc:mill"}
    with pytest.raises(UnknownNameError):
        graph.history.versions("doc:works")
    assert all(finding.is_fine for finding in graph.check())


def test_an_erasure_that_was_killed_is_completed_by_the_same_command(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(graph)
    real, left = Deletion._remove, [1]

    def killed(*given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Deletion, "_remove", killed)
        with pytest.raises(KeyboardInterrupt):
            graph.delete("doc:works", history=True, receipt="r.jsonl")
    assert graph.delete("doc:works", history=True, receipt="r.jsonl").versions_removed == 5
    assert _bytes_with("Quill") == []
    assert len(hlgraph.verify_receipts("r.jsonl.history").receipts) == 1


@pytest.mark.parametrize("after", [2, 4, 10])
def test_versions_left_by_a_killed_erasure_are_erased_by_the_same_command(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    edited(graph)
    edited(graph)
    real, calls = delete.persist, itertools.count()

    def killed(*given: Any, **options: Any) -> Any:
        if next(calls) >= after:
            raise KeyboardInterrupt
        return real(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(delete, "persist", killed)
        patch.setattr(delete.Remover.__new__, "__defaults__", (1, None, None, None))
        with pytest.raises(KeyboardInterrupt):
            graph.delete("doc:works", history=True)
    assert graph.delete("doc:works", history=True).versions_removed == 11 - after
    assert _bytes_with("Quill") == []


def test_sources_are_erased_by_a_filter_also_after_they_were_deleted(graph: HLGraph) -> None:
    edited(graph)
    graph.delete("doc:mill")
    assert graph.delete(where="year = 1901", history=True).versions_removed == 1
    assert len(graph.history.versions("doc:works")) == 5
    with pytest.raises(WhereError):
        graph.delete(where="year = 1901", history=True)


def test_sources_that_are_missing_are_kept_in_the_history(graph: HLGraph) -> None:
    Path("docs").mkdir()
    for name in ("Quill", "Brandt"):
        Path(f"docs/{name}.txt").write_text(f"{name} leads the Aldane Works.")
    graph.ingest("docs", keep_history=True)
    number = graph.stats()[0].version
    Path("docs/Quill.txt").unlink()
    assert graph.ingest("docs", delete_missing=True).kept_in_history == 1
    assert {len(shown(graph)), len(shown(graph, number))} == {1, 2}


def test_all_of_a_corpus_is_deleted_with_its_history(graph: HLGraph) -> None:
    edited(graph)
    assert graph.delete(everything=True).versions_removed == 6
    assert _bytes_with("Quill") == []
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder(dimensions=64)) as other:
        other.ingest([works("Una Moss")])
        assert [version.number for version in other.history.versions("doc:works")] == [1]  # it is still kept


def test_a_history_has_one_model_of_vectors(graph: HLGraph) -> None:
    edited(graph)
    graph.delete(["doc:works", "doc:mill"])
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder(dimensions=64)) as other:
        with pytest.raises(ModelMismatchError):
            other.ingest([works("Una Moss")])
        assert other.delete(everything=True).versions_removed == 6
        other.ingest([works("Una Moss")])
        assert len(other.history.versions("doc:works")) == 1


def test_the_groups_of_a_deleted_source_are_changed_in_the_history(graph: HLGraph) -> None:
    graph.ingest([works("Mara Quill", acl="public")], keep_history=True)
    before = datetime.now(UTC)
    graph.delete("doc:works")
    graph.in_corpus("default@history").groups.set("board", uris="doc:works")
    graph.ingest([OTHER])
    assert [len(shown(graph.as_caller({name}), before)) > 0 for name in ("public", "board")] == [False, True]


def test_a_history_is_imported_again_after_all_of_it_was_deleted(graph: HLGraph) -> None:
    moments = edited(graph)
    past = graph.in_corpus("default@history")
    for each in (graph, past):
        each.export_corpus(f"out/{each.corpus}")
    graph.delete(everything=True)
    for each in (graph, past):
        each.import_corpus(f"out/{each.corpus}")
    assert [shown(graph, at)[0][0].partition(" leads")[0] for at, _ in moments] == list(LEADERS)
    graph.delete("doc:mill")
    with pytest.raises(InputError, match="not empty"):
        past.import_corpus("out/default@history")


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(("second", "seen"), [("public", []), ("board", ["board"]), ("board;public", ["board"])])
def test_a_source_that_gets_the_name_of_a_removed_one_does_not_open_its_past(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, second: str, seen: list[str], *, is_killed: bool
) -> None:
    graph.ingest([works("Mara Quill", acl="board"), OTHER], keep_history=True)
    before = datetime.now(UTC)
    graph.delete("doc:works")
    with monkeypatch.context() as patch:
        if is_killed:
            patch.setattr(history._Synchronisation, "run", killed)
        with contextlib.suppress(KeyboardInterrupt):
            graph.ingest([works("Ivo Brandt", acl=second), OTHER])
    assert [name for name in ("board", "public") if shown(graph.as_caller({name}), before)] == seen
    graph.groups.set("audit", uris="doc:works")
    assert [name for name in ("board", "public", "audit") if shown(graph.as_caller({name}), before)] == []


def test_a_receipt_is_written_only_if_nothing_is_kept(graph: HLGraph) -> None:
    edited(graph)
    with pytest.raises(InputError, match="--history"):
        graph.delete("doc:works", receipt="r.jsonl")
    Path("docs").mkdir()
    with pytest.raises(InputError, match="--history"):
        graph.ingest("docs", delete_missing=True, receipt="r.jsonl")
    other = graph.in_corpus("other")
    other.ingest([OTHER], keep_history=True)
    other.delete(OTHER.uri, history=True, receipt="other.jsonl")
    shutil.copy("other.jsonl.history", "r.jsonl.history")
    with pytest.raises(InputError, match=r"not of 'default@history'.* own, FILE\.history; nothing was deleted$"):
        graph.delete("doc:works", history=True, receipt="r.jsonl")
    assert not Path("r.jsonl").exists()
    Path("r.jsonl.history").unlink()
    assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 2
    report = graph.delete("doc:works", history=True, receipt="r.jsonl")
    assert report.receipt is not None
    (past,) = hlgraph.verify_receipts("r.jsonl.history").receipts
    assert (past.corpus, past.content["removed"]["source"]) == ("default@history", 5)
    assert graph.receipts.verify("r.jsonl").returned == ()


def test_a_hold_keeps_the_past_of_a_source(graph: HLGraph) -> None:
    edited(graph)
    graph.holds.add("case", ["doc:mill"])
    with pytest.raises(HoldError):
        graph.delete(["doc:works", "doc:mill"], history=True)
    assert len(graph.history.versions("doc:works")) == 5


def test_a_hold_on_versions_refuses_an_erasure_before_anything_is_deleted(graph: HLGraph) -> None:
    edited(graph)
    graph.delete("doc:mill")
    graph.in_corpus("default@history").holds.add("case", ["doc:mill"])  # the source itself is deleted
    for erase in (
        lambda: graph.delete(["doc:works", "doc:mill"], history=True, receipt="r.jsonl"),
        lambda: graph.delete(where="title != 'x'", history=True),
        lambda: graph.delete(everything=True),
    ):
        with pytest.raises(HoldError, match="hold release case --corpus default@history"):
            erase()
        assert graph.stats()[0].records[Kind.SOURCE] == 1
        assert not Path("r.jsonl").exists()
    assert len(graph.history.versions("doc:mill")) == 1


def test_unknown_names_and_options_without_effect_are_refused(graph: HLGraph) -> None:
    graph.ingest([works("Mara Quill")])
    with pytest.raises(InputError, match="no history"):
        graph.delete("doc:works", history=True)
    graph.history.keep()
    with pytest.raises(UnknownNameError):
        graph.delete(["doc:works", "doc:none"], history=True)
    assert len(graph.history.versions("doc:works")) == 1
    other = graph.in_corpus("default@history")
    for refused in (lambda: other.ingest([works("X")]), lambda: other.delete(everything=True), other.history.keep):
        with pytest.raises(InputError, match="history of corpus 'default'"):
            refused()


def test_a_corpus_of_that_name_is_no_history(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("hlgraph.ingest.run.refuse_history", lambda _: None)  # as an older hlgraph did
        graph.in_corpus("default@history").ingest([works("Mara Quill")])
    with pytest.raises(InputError, match="is no history"):
        graph.ingest([works("Mara Quill")], keep_history=True)


def test_the_history_moves_with_an_export(graph: HLGraph) -> None:
    moments = edited(graph)
    assert (
        "hlgraph export FOLDER --corpus default@history"
        in call("--store", "hlgraph://./store", "export", "out/default").out
    )
    graph.holds.add("audit", "doc:works")
    left_out = [
        graph.in_corpus(corpus).export_corpus(f"out/{corpus}").left_out for corpus in ("default", "default@history")
    ]
    assert left_out == [("history", "holds"), ()]
    with hlgraph.connect("hlgraph://./other", embedder=WordEmbedder()) as other:
        with pytest.raises(InputError, match="@history"):
            other.in_corpus("plain").import_corpus("out/default@history")
        for corpus in ("default", "default@history"):
            other.in_corpus(corpus).import_corpus(f"out/{corpus}")
        assert shown(other, moments[0][0]) == shown(graph, moments[0][0])
        other.ingest([works("Edda Thorn")])
        assert len(other.history.versions("doc:works")) == 6
    with hlgraph.connect("hlgraph://./third", corpus="third", embedder=WordEmbedder()) as other:
        for corpus in ("default@history", "default"):  # under another name, in another order
            other.in_corpus(corpus.replace("default", "third")).import_corpus(f"out/{corpus}")
        assert shown(other, moments[0][0]) == shown(graph, moments[0][0])
        other.ingest([works("Edda Thorn")])
        assert len(other.history.versions("doc:works")) == 6


def test_groups_of_today_hold_in_an_older_history_that_was_imported(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.ingest([works("Mara Quill", acl="public")], keep_history=True)
    graph.in_corpus("default@history").export_corpus("out/history")
    graph.groups.set("board", uris="doc:works")
    graph.export_corpus("out/present")
    with hlgraph.connect("hlgraph://./other", embedder=WordEmbedder()) as other:
        other.in_corpus("default@history").import_corpus("out/history")
        other.import_corpus("out/present")
        seen = other.history.versions("doc:works")[0].valid_from
        assert [len(shown(other.as_caller({name}), seen)) > 0 for name in ("public", "board")] == [False, True]
        with monkeypatch.context() as patch:
            patch.setattr(history, "_versions", lambda *_: pytest.fail("all versions were compared once more"))
            assert [len(shown(other.as_caller({name}), seen)) > 0 for name in ("public", "board")] == [False, True]
        other.groups.set("public", uris="doc:works")
        assert [len(shown(other.as_caller({name}), seen)) > 0 for name in ("public", "board")] == [True, False]


def test_the_command_line_asks_lists_and_compares(graph: HLGraph) -> None:
    for name in ("Mara Quill", "Ivo Brandt"):
        Path("works.txt").write_text(f"{name} leads the Aldane Works.")
        assert call("ingest", "works.txt", "--keep-history").code == 0
    found = call("search", QUESTION, "--as-of", "1", "--json")
    assert "Mara Quill" in json.loads(found.out)["evidence"][0]["text"]
    assert "Mara Quill" in call("answer", QUESTION, "--as-of", "1").out
    assert call("history", "list", "works.txt").out.count("\n") == 2
    assert "+ statement: works: Ivo Brandt leads" in call("diff", "--from", "1").out
    tree = json.loads(call("diff", "--from", "1", "--to", "2", "--json").out)
    assert len(tree["sources"]["changed"]) == 1
    assert "sources: 0 added, 0 removed, 1 changed; +1 -1 statements, +1 -1 facts" in call("history", "changes").out
    assert [len(one["sources"]["changed"]) for one in call("history", "changes", "--json").tree["changes"]] == [0, 1]
    assert "+ statement: works: Ivo Brandt leads" in call("diff", "--change", "2").out
    assert call("diff", "--change", "2", "--from", "1").code == call("diff").code == 2
    assert "--history" in call("delete", "works.txt").out
    assert "history: 2 versions removed" in call("delete", "works.txt", "--history").out
