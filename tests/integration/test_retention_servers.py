"""Receipts and holds on Neo4j and OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_stores import opened, settings_for

import hlgraph
from hlgraph import errors
from hlgraph.ingest.delete import Remover
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

_DOCUMENTS = [
    Document("u:a", "Mara Quill was born in Tessing, a town at the river Orne.", "a", {"year": 1900}),
    Document("u:b", "Ivo Brandt left Tessing in the winter of 1901.", "b", {"year": 1901}),
    Document("u:c", "Una Moss opened the Orne Hall in 1951.", "c", {"year": 1951}),
]


@pytest.fixture
def graph(servers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.chdir(tmp_path)
    settings = settings_for(servers)
    with opened(servers, settings), hlgraph.connect(settings, embedder=WordEmbedder()) as client:
        client.ingest(_DOCUMENTS)
        yield client


def test_a_receipt_says_what_is_left_and_what_it_cannot_cover(graph: HLGraph) -> None:
    before = graph.stats()[0]
    one = graph.delete("u:a", receipt="r.jsonl").receipt
    assert one
    content: dict[str, Any] = dict(one.content)
    assert (content["before"]["state"], content["removed"]["source"], content["removed"]["chunk"]) == (
        before.state,
        1,
        1,
    )
    assert content["after"]["state"] == graph.stats()[0].state != before.state
    assert {count for counts in content["left"].values() for count in counts.values()} == {0}
    disk = content["disk"]
    assert (disk["stores"][1], disk["freed_bytes_overwritten"]) == ("opensearch", None)
    prefix = graph.settings.opensearch.prefix
    assert disk["awaiting_merge"]
    assert all(name.startswith(prefix) and count >= 0 for name, count in disk["awaiting_merge"].items())
    assert [line for line in content["not_covered"] if "transaction logs of the graph server" in line]
    assert [line for line in content["not_covered"] if "await a merge" in line]
    two = graph.delete(everything=True, receipt="r.jsonl").receipt
    assert two
    assert (two.number, two.content["previous"], len(two.ids)) == (2, one.hash, 2)
    verified = graph.receipts.verify("r.jsonl")
    assert (verified.receipts, verified.returned, verified.missing) == ((one, two), (), 0)
    graph.ingest(_DOCUMENTS[:1])
    assert graph.receipts.verify("r.jsonl").returned == one.ids
    three = graph.delete("u:a", receipt="other.jsonl").receipt  # the number is not lost with the corpus
    assert three
    assert three.number == 3
    assert graph.receipts.verify("r.jsonl").missing == 1


class Stopped(BaseException):
    """Ends a deletion in the middle, as a kill does."""


def test_a_deletion_that_was_stopped_gives_one_true_receipt(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second change, after it was published."""
    monkeypatch.setattr(Remover.__new__, "__defaults__", (1, None, None, None))
    vectors = graph._opened.stores.vectors
    real, left = vectors.delete, [1]

    def stop(*given: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(vectors, "delete", stop)
        with pytest.raises(Stopped):
            graph.delete(["u:a", "u:b", "u:c"], receipt="r.jsonl")
    receipt = graph.delete(["u:a", "u:b", "u:c"], receipt="r.jsonl", receipt_uris=True).receipt
    assert receipt
    content = receipt.content
    assert sorted(source["uri"] for source in content["sources"]) == ["u:a", "u:b", "u:c"]
    assert (content["removed"]["source"], content["removed"]["chunk"], content["uncounted"]) == (3, 3, 0)
    assert graph.receipts.verify("r.jsonl").receipts == (receipt,)


def test_holds_refuse_deletions_and_edits(graph: HLGraph) -> None:
    hold = graph.holds.add("case 12", where="year <= 1901")
    with pytest.raises(errors.InputError, match="has a hold 'case 12' already"):
        graph.holds.add("case 12", "u:c")
    for named in ({"uris": ["u:c", "u:b"]}, {"where": "year > 1900"}, {"everything": True}):
        state = graph.stats()[0].state
        with pytest.raises(errors.HoldError, match="under the hold 'case 12'"):
            graph.delete(**named, receipt="r.jsonl")  # type: ignore[arg-type]
        assert graph.stats()[0].state == state
    assert not Path("r.jsonl").exists()
    report = graph.ingest(
        [Document("u:a", "Nothing.", "a", {"year": 1900}), Document("u:c", "New.", "c", {"year": 1951})]
    )
    assert ([failure.uri for failure in report.failed], report.sources_changed) == (["u:a"], 1)
    assert graph.delete("u:c").sources_removed == 1
    with hlgraph.connect(graph.settings, embedder=WordEmbedder()) as other:
        assert other.holds.list() == (hold,)
        assert other.holds.release("case 12") == hold
    assert graph.holds.list() == ()
    assert graph.delete(everything=True).sources_removed == 2
    assert not [finding for finding in graph.check() if not finding.is_fine]
