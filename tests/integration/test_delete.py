"""What can be named to be deleted: a uri, a path, a row of a file, all rows of a file, a folder; and nothing half done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlgraph
from hlgraph import errors
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "inner").mkdir(parents=True)
    (tmp_path / "docs" / "a.txt").write_text("Mara Quill was born in Tessing.")
    (tmp_path / "docs" / "inner" / "b.txt").write_text("Ivo Brandt left Tessing.")
    rows = [{"id": f"r{n}", "text": f"Row {n} names Tessing."} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder()) as opened:
        opened.ingest(["docs", "rows.jsonl"])
        yield opened


@pytest.mark.parametrize(
    ("names", "count"),
    [
        (["docs/a.txt"], 1),
        (["docs"], 2),
        (["docs/inner/"], 1),
        (["rows.jsonl"], 3),
        (["rows.jsonl#r1"], 1),
        (["rows.jsonl#r1", "rows.jsonl"], 3),
        (["docs/a.txt", "rows.jsonl#r2"], 2),
    ],
)
def test_names(graph: HLGraph, names: list[str], count: int) -> None:
    assert graph.delete(names).sources_removed == count
    assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 5 - count
    assert not [item for item in graph.check() if not item.is_fine]


def test_one_unknown_name_and_nothing_is_deleted(graph: HLGraph) -> None:
    for names in (["docs/a.txt", "rows.jsonl#r9"], ["doc"], ["rows.json"]):
        with pytest.raises(errors.UnknownNameError, match="nothing was deleted"):
            graph.delete(names)
    assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 5


def test_an_emptied_corpus_takes_another_model(graph: HLGraph) -> None:
    assert graph.delete(everything=True).sources_removed == 5
    with hlgraph.connect(graph.settings, embedder=WordEmbedder(8, name="other")) as other:
        assert other.ingest("docs").sources_added == 2
        assert other.search("Who was born in Tessing?").evidence
        assert not [item for item in other.check() if not item.is_fine]
