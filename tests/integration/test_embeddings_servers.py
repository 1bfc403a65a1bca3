"""On Neo4j and OpenSearch the embedding model of a corpus changes as on the embedded store, while searches go on."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from live_stores import opened, settings_for
from two_models import NEW, OLD, QUESTIONS, documents, shown

import hlgraph
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.records import Document, Kind
from hlgraph.sdk.client import HLGraph

SHOWN = ("statement", "path", "hierarchy")


def pure(tmp_path: Any) -> dict[str, list[Any]]:
    """What an embedded store shows that was ingested by one of the models."""
    results = {}
    for embedder in (OLD, NEW):
        with hlgraph.connect(f"hlgraph://{tmp_path}/{embedder.dimensions}", embedder=embedder) as graph:
            graph.ingest(documents())
            graph.hierarchy.build()
            results[embedder.fingerprint] = shown(graph, SHOWN)
    return results


def texts(results: list[Any]) -> list[Any]:
    return [[text for text, _ in some] for some in results]


def test_the_model_changes_on_servers_as_on_the_embedded_store(servers: Any, tmp_path: Any) -> None:
    settings, expected = settings_for(servers), pure(tmp_path)
    failed: list[BaseException] = []
    seen: list[str] = []
    stop = threading.Event()

    def search(graph: HLGraph) -> None:
        while not stop.is_set():
            try:
                result = graph.search(QUESTIONS[0], strategy="statement", k=5)
            except BaseException as error:  # noqa: BLE001 - whatever it is, the test reports it
                failed.append(error)
                return
            seen.append(repr([piece.text for piece in result.evidence]))

    with opened(servers, settings), hlgraph.connect(settings, embedder=OLD) as graph:
        graph.ingest(documents(), keep_history=True)
        graph.hierarchy.build()
        with hlgraph.connect(settings, embedder=OLD) as other, hlgraph.connect(settings, embedder=OLD) as third:
            other._resources.models.chosen(NEW)
            third.search(QUESTIONS[0], strategy="statement")  # it presumes this state at its next search
            threads = [threading.Thread(target=search, args=(one,)) for one in (graph, other)]
            for thread in threads:
                thread.start()
            NEW.embedded.clear()
            built = graph.embeddings.build(NEW)
            assert len(NEW.embedded) - seen_questions() == len(set(NEW.embedded) - set(QUESTIONS))
            assert built.missing == 0
            assert graph.embeddings.verify().is_fine
            for _ in range(2):
                graph.embeddings.switch()
                graph.embeddings.rollback()
            graph.embeddings.switch()
            stop.set()
            for thread in threads:
                thread.join()
            assert failed == []
            place = texts(expected["old/32"])[0], texts(expected["new/48"])[0]
            assert set(seen) == set(map(repr, place))
            with pytest.raises(ModelMismatchError, match="this process cannot create that model"):
                third.search(QUESTIONS[0], strategy="statement")
        graph.hierarchy.build()
        assert texts(shown(graph, SHOWN)) == texts(expected["new/48"])
        assert all(finding.is_fine for finding in graph.check())
        assert graph.reconcile()[0].is_none

        # Deleted rows leave both sets, new ones are missing in the previous one, and a dropped set leaves no row.
        sets = graph.stats()[0].sets
        assert sets is not None
        assert sets.other is not None
        graph.delete("doc:0")
        graph.ingest([Document("doc:9", "Edda Thorn painted the Tessing Abbey.")])
        assert len(graph.history.versions("doc:0")) == 1
        with pytest.raises(InputError, match="lack a vector of old/32"):
            graph.embeddings.rollback()
        stores = graph._opened.stores
        present = {record.id for record in stores.graph.find(Kind.CHUNK, _scope())}
        assert stores.vectors.ids(Kind.CHUNK, "default@vectors-") < present
        graph.embeddings.build(OLD)
        assert stores.vectors.ids(Kind.CHUNK, "default@vectors-") == present
        graph.embeddings.rollback()
        dropped = graph.embeddings.drop()
        assert dropped.embedding == "new/48"
        assert not stores.vectors.ids(Kind.CHUNK, f"default@vectors-{sets.current.id}")
        assert all(finding.is_fine for finding in graph.check())
        assert graph.reconcile()[0].is_none

        # An emptied corpus, whose current set had another name, takes an import.
        graph.embeddings.build(NEW)
        graph.embeddings.switch()
        found = [piece.text for piece in other_search(graph)]
        graph.export_corpus(tmp_path / "export")
        graph.delete(everything=True)
        graph.import_corpus(tmp_path / "export")
        assert [piece.text for piece in other_search(graph)] == found


def other_search(graph: HLGraph) -> Any:
    graph._resources.models._embedder = NEW  # as after hlgraph.connect with the new model
    return graph.search(QUESTIONS[0], strategy="statement").evidence


def seen_questions() -> int:
    return sum(text in QUESTIONS for text in NEW.embedded)


def _scope() -> Any:
    from hlgraph.stores.protocols import Scope

    return Scope("default")
