"""Another embedding model for a corpus: a second set of vectors is built, verified and switched to while searches go on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from two_models import NEW, OLD, QUESTIONS, STRATEGIES, documents, shown

import hlgraph
from hlgraph import Budget
from hlgraph.errors import BudgetError, InputError, ModelMismatchError, StoreConflictError
from hlgraph.records import Document, Kind
from hlgraph.sdk.client import HLGraph
from hlgraph.stores.open import open_stores
from hlgraph.testing.embedder import WordEmbedder


def connect(folder: Path, embedder: Any = OLD, **options: Any) -> HLGraph:
    return hlgraph.connect(f"hlgraph://{folder}", embedder=embedder, **options)


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What a store shows that was ingested by one of the models."""
    results = {}
    for embedder in (OLD, NEW):
        with connect(tmp_path_factory.mktemp("pure"), embedder) as graph:
            graph.ingest(documents())
            graph.hierarchy.build()
            results[embedder.fingerprint] = shown(graph)
    assert results["old/32"] != results["new/48"]
    return results


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with connect(tmp_path / "store") as graph:
        graph.ingest(documents())
        graph.hierarchy.build()
    return tmp_path / "store"


def rows(folder: Path, name: str) -> dict[Kind, set[str]]:
    opened = open_stores(f"hlgraph://{folder}")
    with opened.closing:
        kinds = (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY)
        return {kind: opened.stores.vectors.ids(kind, name) for kind in kinds}


def test_a_switched_corpus_finds_what_an_ingest_by_the_new_model_finds(store: Path, pure: dict[str, Any]) -> None:
    with connect(store) as graph:
        assert [one.state for one in graph.embeddings.list()] == ["current"]
        plan = graph.embeddings.plan(NEW)
        NEW.embedded.clear()
        built = graph.embeddings.build(NEW)
        assert (plan.rows, plan.texts, plan.dimensions) == (built.written, built.texts, 48)
        assert len(NEW.embedded) == len(set(NEW.embedded)), "a text was embedded twice"
        assert built.missing == 0
        assert shown(graph) == pure["old/32"], "no search reads the second set"
        verified = graph.embeddings.verify(questions=QUESTIONS)
        assert verified.is_fine
        assert verified.rows == built.written
        assert 0 < (verified.overlap or 0) <= 1
        assert graph.embeddings.build(NEW).written == 0

        switched = graph.embeddings.switch()
        assert (switched.embedding, switched.previous) == ("new/48", "old/32")
        assert switched.outdated == ("hierarchy",)
        graph.hierarchy.build()
        assert shown(graph) == pure["new/48"]
        assert all(finding.is_fine for finding in graph.check())
        assert graph.reconcile()[0].is_none
        assert [(one.embedding, one.state, one.missing) for one in graph.embeddings.list()] == [
            ("new/48", "current", 0),
            ("old/32", "previous", 0),
        ]

        assert graph.embeddings.rollback().embedding == "old/32"
        graph.hierarchy.build()
        assert shown(graph) == pure["old/32"]
        graph.embeddings.switch()
        dropped = graph.embeddings.drop()
        assert (dropped.embedding, dropped.rows) == ("old/32", built.written)
        graph.hierarchy.build()
        assert shown(graph) == pure["new/48"]
        assert all(finding.is_fine for finding in graph.check())
        with pytest.raises(InputError, match="has one set of vectors"):
            graph.embeddings.rollback()
    sizes = {path.stat().st_size % (48 * 4) for path in (store / "vectors").glob("*.f32")}
    assert sizes == {0}, "a matrix of the old model is left"


def test_what_changes_between_build_and_switch_is_right_in_both_sets(store: Path, tmp_path: Path) -> None:
    with connect(store) as graph:
        graph.embeddings.build(NEW)
        changed = [Document("doc:1", "Una Moss sold the Orne Light.", title="Sale"), *documents(8)[2:]]
        graph.ingest(changed)
        graph.delete("doc:0")
        present = {
            kind: {r.id for r in graph._opened.stores.graph.find(kind, _scope())}
            for kind in (Kind.CHUNK, Kind.STATEMENT)
        }
        other = f"default@vectors-{_sets(graph).other.id}"
        for kind, ids in present.items():
            assert rows(store, other)[kind] <= ids, "the second set has rows of deleted text"
        with pytest.raises(InputError, match=r"\d+ records lack a vector of new/48.*hlgraph embeddings build"):
            graph.embeddings.switch()
        assert graph.embeddings.verify().missing > 0
        graph.embeddings.build(NEW)
        assert graph.embeddings.verify().is_fine
        graph.embeddings.switch()
        seen = shown(graph)
    with connect(tmp_path / "fresh", NEW) as graph:
        graph.ingest(changed)
        graph.hierarchy.build()
        expected = shown(graph)
    with connect(store, NEW) as graph:
        assert len(seen) == len(expected)
        graph.hierarchy.build()
        assert shown(graph) == expected
        # After the switch the new model embeds; the previous set lacks these rows.
        graph.ingest([Document("doc:9", "Edda Thorn painted the Tessing Abbey.")])
        with pytest.raises(InputError, match="lack a vector of old/32"):
            graph.embeddings.rollback()
        graph.embeddings.build(OLD)
        assert graph.embeddings.rollback().embedding == "old/32"
        graph.delete(everything=True)
        assert all(not ids for name in ("default", other) for ids in rows(store, name).values())


def _scope() -> Any:
    from hlgraph.stores.protocols import Scope

    return Scope("default")


def _sets(graph: HLGraph) -> Any:
    return graph.stats()[0].sets


def test_no_search_fails_while_the_model_is_switched(store: Path, pure: dict[str, Any]) -> None:
    """Threads of the same process and of another handle search all the time; every result is of one of the two models."""
    failed: list[BaseException] = []
    seen: list[Any] = []
    stop = threading.Event()
    allowed: dict[str, set[str]] = {}

    def search(graph: HLGraph, at: int) -> None:
        question = QUESTIONS[at % 3]
        while not stop.is_set():
            try:
                result = graph.search(
                    question, strategy="statement", k=5, where="year >= 1802" if at % 3 == 1 else None
                )
                seen.append((question, repr([(piece.text, round(piece.score, 5)) for piece in result.evidence])))
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test reports it
                failed.append(error)
                return

    with connect(store) as graph, connect(store) as other:
        other._resources.models.chosen(NEW)  # the other handle can create the new model
        for at, question in enumerate(QUESTIONS):
            allowed[question] = {repr(results[STRATEGIES.index("statement") * 3 + at]) for results in pure.values()}
        threads = [
            threading.Thread(target=search, args=(one, at)) for at, one in enumerate((graph, other, graph, other))
        ]
        for thread in threads:
            thread.start()
        for _ in range(3):
            graph.embeddings.build(NEW)
            graph.embeddings.switch()
            graph.embeddings.rollback()
            graph.embeddings.drop()
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    wrong = [result for question, result in seen if result not in allowed[question]]
    assert wrong == []
    assert len({result for _, result in seen}) > len(QUESTIONS), "both models were seen"


def test_a_process_with_the_old_model_continues_or_is_told_what_to_do(store: Path) -> None:
    with connect(store) as graph, connect(store) as other, connect(store, WordEmbedder(16, name="third")) as third:
        with pytest.raises(ModelMismatchError, match="hlgraph embeddings build MODEL --corpus default"):
            third.search(QUESTIONS[0], strategy="statement")
        other.search(QUESTIONS[0], strategy="statement")
        graph.embeddings.build(NEW)
        graph.embeddings.switch()
        graph.search(QUESTIONS[0], strategy="statement")
        with pytest.raises(ModelMismatchError, match=r"vectors of new/48, and this process cannot create .* rollback"):
            other.search(QUESTIONS[0], strategy="statement")
        with pytest.raises(ModelMismatchError, match="cannot create that model"):
            other.ingest(documents(8))
        other._resources.models.chosen(NEW)
        assert other.search(QUESTIONS[0], strategy="statement").evidence
        other.ingest(documents(8))
        assert other.stats()[0].embedding == "new/48"


def test_bad_calls_change_nothing(store: Path) -> None:
    with connect(store, corpus="a@vectors-b") as graph, pytest.raises(InputError, match="name of a set of vectors"):
        graph.ingest(documents(1))
    with connect(store) as graph:
        for call, message in (
            (lambda: graph.embeddings.build(OLD), "has vectors of old/32 already"),
            (graph.embeddings.switch, "no other one to switch to"),
            (graph.embeddings.rollback, "no other one to return to"),
            (graph.embeddings.verify, "no other one to verify"),
        ):
            with pytest.raises(InputError, match=message):
                call()
        with pytest.raises(BudgetError, match="repeat the command to resume it"):
            graph.embeddings.build(NEW, budget=Budget(max_tokens=60))
        with pytest.raises(InputError, match="keeps no third one"):
            graph.embeddings.build(WordEmbedder(16, name="third"))
        with pytest.raises(InputError, match="lack a vector"):
            graph.embeddings.switch()
        with pytest.raises(InputError, match=r"was never current; .*hlgraph embeddings switch"):
            graph.embeddings.rollback()
        assert graph.embeddings.build(NEW).missing == 0
        graph.embeddings.switch()
        again = graph.embeddings.switch()
        assert (again.is_unchanged, again.embedding) == (True, "new/48")
        graph.embeddings.rollback()
        assert graph.embeddings.rollback().is_unchanged
        assert graph.embeddings.drop().embedding == "new/48"
        assert graph.embeddings.drop() == ("", 0)


def test_history_backup_and_export_go_with_the_current_set(tmp_path: Path) -> None:
    with connect(tmp_path / "store") as graph:
        graph.ingest(documents(), keep_history=True)
        graph.ingest([Document("doc:1", "Una Moss sold the Orne Light.")])
        versions = graph.history.versions("doc:1")
        NEW.embedded.clear()
        graph.embeddings.build(NEW)
        assert len(NEW.embedded) == len(set(NEW.embedded)), "a text of the history was embedded again"
        graph.embeddings.switch()
        past = graph.search("Who repaired the Vessel Mill?", strategy="statement", as_of=versions[0].valid_from)
        assert any("Ivo Brandt repaired" in piece.text for piece in past.evidence)
        graph.ingest([Document("doc:2", "Una Moss burnt the Orne Bridge.")])  # the history takes it
        assert len(graph.history.versions("doc:2")) == 2
        graph.backup(tmp_path / "backup")
        graph.export_corpus(tmp_path / "export")
        seen = [piece.text for piece in graph.search(QUESTIONS[0], strategy="statement").evidence]
    hlgraph.restore(tmp_path / "backup", f"hlgraph://{tmp_path}/restored")
    with connect(tmp_path / "restored") as graph:
        graph._resources.models.chosen(NEW)
        assert [piece.text for piece in graph.search(QUESTIONS[0], strategy="statement").evidence] == seen
        assert [one.state for one in graph.embeddings.list()] == ["current", "previous"]
    with connect(tmp_path / "imported", NEW) as graph:
        graph.import_corpus(tmp_path / "export")
        assert [piece.text for piece in graph.search(QUESTIONS[0], strategy="statement").evidence] == seen
        assert [(one.embedding, one.state) for one in graph.embeddings.list()] == [("new/48", "current")]


def test_an_ingest_that_meets_a_switch_is_refused_whole_and_then_repeated(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(store) as graph, connect(store) as other:
        graph.embeddings.build(NEW)
        other._resources.models.chosen(NEW)
        embed = WordEmbedder.embed

        def switched(self: WordEmbedder, texts: Any) -> Any:
            monkeypatch.setattr(WordEmbedder, "embed", embed)
            rows = self.embed(texts)
            graph.embeddings.switch()
            return rows

        monkeypatch.setattr(WordEmbedder, "embed", switched)
        with pytest.raises(StoreConflictError, match=r"switched from old/32 to new/48 meanwhile; run the same command"):
            other.ingest([Document("doc:9", "Edda Thorn painted the Tessing Abbey.")])
        other.ingest([Document("doc:9", "Edda Thorn painted the Tessing Abbey.")])
        assert graph.reconcile()[0].is_none
        assert all(finding.is_fine for finding in graph.check())


def test_callers_and_receipts_see_one_set_and_miss_none(store: Path, tmp_path: Path) -> None:
    with connect(store) as graph:
        graph.groups.set("board", uris="doc:1")
        graph.groups.set("public", uris=[f"doc:{at}" for at in (0, 2, 3, 4, 5)])
        graph.embeddings.build(NEW)
        graph.embeddings.switch()
        seen = graph.as_caller({"public"}).search(QUESTIONS[0], strategy="statement", k=9).evidence
        assert seen
        assert {piece.source.uri for piece in seen} <= {f"doc:{at}" for at in (0, 2, 3, 4, 5)}
        stores = graph._opened.stores
        assert stores.vectors.ids(Kind.CHUNK, "default@vectors-")
        receipt = graph.delete([f"doc:{at}" for at in range(6)], receipt=tmp_path / "receipts.jsonl").receipt
        assert receipt is not None
        for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY):
            assert not stores.vectors.ids(kind, "default@vectors-"), "the previous set has rows of deleted sources"
        # An emptied corpus is bound to no model, and takes any again.
        graph.ingest(documents(2))
        assert graph.stats()[0].embedding == "old/32"
        assert graph.as_operator().search(QUESTIONS[0], strategy="statement").evidence
