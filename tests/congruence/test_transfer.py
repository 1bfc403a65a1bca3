"""A corpus goes from the embedded store to the servers and back: every part of every export has the same bytes.

An import into the servers that is killed is completed by the same call, and nobody sees anything of it before.
"""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import bulk_worker
import pytest
import transfer_worker
from command_worker import start_script
from live_stores import empty, neo4j_of, settings_for
from opensearch_fixture import opened as opened_vectors
from thoroughness import cases

from hlgraph import HLGraph, connect
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.records import Domain, Kind
from hlgraph.settings import Settings
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_QUESTION = "Who repaired the tower of Orne?"
HISTORY = "loads@history"


@pytest.fixture
def settings(servers: Any) -> Iterator[Settings]:
    """Settings for empty servers; all that was written is removed."""
    empty(servers)
    chosen = replace(settings_for(servers), corpus="loads")
    yield chosen
    clear(servers, chosen)


def clear(servers: Any, settings: Settings) -> None:
    """Empty both servers."""
    with opened_vectors(servers.opensearch, prefix=settings.opensearch.prefix):
        pass
    empty(servers)


def filled(url: str) -> HLGraph:
    """An embedded store with an edited source, a history, groups, decisions, a domain, an outdated run and a new one."""
    documents = bulk_worker.documents()
    graph = connect(url, corpus="loads", embedder=WordEmbedder(48))
    graph.ingest([*documents[:-1], replace(documents[-1], text="Lena Foss left Rusk.")], keep_history=True)
    graph.groups.set("board", uris=[document.uri for document in documents[::3]])
    graph.hierarchy.build(HierarchyQuery(neighbours=3, threshold=0.1, max_size=5))
    graph.ingest(documents)
    graph.merges.apply([("Mara Quill", "Ivo Brandt")], keep_apart=True)
    graph.merges.apply([("Orne", "Tessing")])
    graph.communities.build()
    graph.domain.set(Domain(("bridge",), ("water",)))
    return graph


def parts(folder: Path) -> dict[str, bytes]:
    """The files of exports."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def moved(graph: HLGraph, method: str, folder: Path) -> None:
    """Export or import the corpus and its history."""
    for corpus in ("loads", HISTORY):
        getattr(graph.in_corpus(corpus), method)(folder / corpus)


def test_a_corpus_goes_to_the_servers_and_back_with_equal_bytes(
    servers: Any, settings: Settings, tmp_path: Path
) -> None:
    tree = dataclasses.asdict(replace(settings, neo4j=neo4j_of(servers)))
    config = tmp_path / "settings.json"
    config.write_text(json.dumps({name: tree[name] for name in ("store", "vectors", "corpus", "neo4j", "opensearch")}))
    config.chmod(0o600)
    with filled(f"hlgraph://{tmp_path}/a") as graph:
        moved(graph, "export_corpus", tmp_path / "one")
        evidence = graph.as_caller({"board"}).search(_QUESTION, strategy="path").evidence
        wanted = snapshot(graph._opened.stores, "loads")
    moments = transfer_worker.Moments()
    with pytest.MonkeyPatch.context() as patch, connect(settings, embedder=WordEmbedder(48)) as graph:
        moments.arm(patch.setattr)
        graph.import_corpus(tmp_path / "one" / "loads")
    assert moments.count > 40
    clear(servers, settings)

    def work(moment: int, what: str = "import", folder: str = "one") -> int | None:
        source = Path(transfer_worker.__file__).read_text(encoding="utf-8")
        worker = start_script(source, config, tmp_path / folder / "loads", moment, what)
        worker.join()
        return worker.exitcode

    rng = random.Random(7)
    kills = 0
    while kills < cases(3, 20):
        kills += work(rng.randint(2, moments.count // 2)) == -9
        with connect(settings, embedder=WordEmbedder(48)) as graph:
            is_there = bool(graph.stats())
            assert not is_there or snapshot(graph._opened.stores, "loads") == wanted
        if is_there:  # killed after its last transaction, or not at all
            clear(servers, settings)
    assert work(0) == 0
    kills = 0
    while kills < cases(1, 20):
        kills += work(rng.randint(1, 20), "export", "two") == -9

    with connect(settings, embedder=WordEmbedder(48)) as graph:
        assert snapshot(graph._opened.stores, "loads") == wanted
        assert all(item.is_fine for item in graph._opened.check())
        assert graph.reconcile()[0].is_none
        assert [item.id for item in graph.as_caller({"board"}).search(_QUESTION, strategy="path").evidence] == [
            item.id for item in evidence
        ]
        assert [run.is_stale for run in graph._opened.stores.graph.derived.runs("loads")] == [False, True]  # type: ignore[union-attr]
        graph.in_corpus(HISTORY).import_corpus(tmp_path / "one" / HISTORY)
        moved(graph, "export_corpus", tmp_path / "two")
        assert graph.ingest(bulk_worker.documents()).sources_unchanged == 30
        assert len(graph.history.versions("doc:29")) == 2
    with connect(f"hlgraph://{tmp_path}/b", corpus="loads", embedder=WordEmbedder(48)) as graph:
        moved(graph, "import_corpus", tmp_path / "two")
        moved(graph, "export_corpus", tmp_path / "three")
    assert parts(tmp_path / "two") == parts(tmp_path / "one")
    assert parts(tmp_path / "three") == parts(tmp_path / "one")


def test_another_writer_removes_an_import_that_did_not_end(servers: Any, settings: Settings, tmp_path: Path) -> None:
    del servers
    with filled(f"hlgraph://{tmp_path}/a") as graph:
        graph.export_corpus(tmp_path / "one")
        wanted = bulk_worker.documents()[:2]
    with connect(settings, embedder=WordEmbedder(48)) as graph, pytest.MonkeyPatch.context() as patch:
        stores = graph._opened.stores
        patch.setattr(stores.graph.copies, "writer", _ending(stores.graph.copies.writer))  # type: ignore[union-attr]
        with pytest.raises(KeyboardInterrupt):
            graph.import_corpus(tmp_path / "one")
        assert graph.stats() == ()
        assert stores.vectors.ids(Kind.CHUNK, "loads")
    with connect(settings, embedder=WordEmbedder(48)) as graph:
        graph.ingest(wanted)
        assert graph.stats()[0].records[Kind.SOURCE] == 2
        assert all(item.is_fine for item in graph._opened.check())
        assert graph.reconcile()[0].is_none
        after = snapshot(graph._opened.stores, "loads")
    with connect(f"hlgraph://{tmp_path}/b", corpus="loads", embedder=WordEmbedder(48)) as graph:
        graph.ingest(wanted)
        assert snapshot(graph._opened.stores, "loads") == after


def _ending(real: Any) -> Any:
    """Has the writer of an import end before the corpus becomes visible."""

    def writer(arrival: Any) -> Any:
        made = real(arrival)

        def reveal(_: object) -> None:
            raise KeyboardInterrupt

        made.reveal = reveal
        return made

    return writer
