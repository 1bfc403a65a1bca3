"""Receipts of deletions and holds on sources, in the embedded store; test_retention_servers.py has the servers."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hlgraph
from hlgraph import errors
from hlgraph.ingest import receipts
from hlgraph.ingest.delete import Remover
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

_TEXTS = {
    "a": "Mara Quill was born in Tessing, a town at the river Orne that has a bridge of seven arches.",
    "b": "Ivo Brandt left Tessing in the winter of 1901. He bought the Vessel Mill with borrowed money.",
    "c": "Una Moss opened the Orne Hall in 1951. The hall burned down in the same year.",
}


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HLGraph]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for name, text in _TEXTS.items():
        (tmp_path / "docs" / f"{name}.txt").write_text(text)
    with hlgraph.connect("hlgraph://./store", embedder=WordEmbedder()) as opened:
        opened.ingest("docs")
        yield opened


def _uri(name: str) -> str:
    return Path(f"docs/{name}.txt").absolute().as_uri()


def _count(graph: HLGraph) -> int:
    return graph.stats()[0].records[hlgraph.Kind.SOURCE]


def test_a_receipt_says_what_was_removed_and_what_is_left(graph: HLGraph) -> None:
    before = graph.stats()[0]
    report = graph.delete(["docs/a.txt", "docs/b.txt"], receipt="r.jsonl")
    assert report.receipt
    content: dict[str, Any] = dict(report.receipt.content)
    hashes = {hashlib.sha256(_uri(name).encode()).hexdigest() for name in "ab"}
    assert {source["uri_sha256"] for source in content["sources"]} == hashes
    assert content["removed"] == {"source": 2, **report.removed}
    assert (content["before"]["version"], content["after"]["version"]) == (before.version, before.version + 1)
    assert {count for counts in content["left"].values() for count in counts.values()} == {0}
    disk = content["disk"]
    assert (disk["with_removed_text"], disk["freed_bytes_overwritten"], disk["stores"]) == (0, True, ["embedded"])
    assert disk["windows"] > 4
    assert disk["files"] > 1
    assert any("backups" in line for line in content["not_covered"])
    written = Path("r.jsonl").read_text()
    assert "docs" not in written
    assert "Quill" not in written
    assert hlgraph.verify_receipts("r.jsonl").receipts == (report.receipt,)
    assert graph.receipts.verify("r.jsonl").returned == ()


def test_receipts_are_a_chain_and_may_hold_uris(graph: HLGraph) -> None:
    one = graph.delete("docs/a.txt", receipt="r.jsonl").receipt
    two = graph.delete(where="title = 'b'", receipt="r.jsonl", receipt_uris=True).receipt
    assert one
    assert two
    assert (one.number, two.number, two.content["previous"]) == (1, 2, one.hash)
    assert two.content["asked"]["names"] == ['title = "b"']
    assert [source["uri"] for source in two.content["sources"]] == [_uri("b")]
    other = graph.delete(everything=True, receipt="other.jsonl").receipt
    assert other
    assert (other.number, other.content["previous"]) == (3, two.hash)
    assert graph.receipts.verify("other.jsonl").missing == 0
    assert graph.receipts.verify("r.jsonl").missing == 1
    with pytest.raises(
        errors.InputError, match=r"ends with receipt 2, but the last one of corpus 'default' is number 3"
    ):
        graph.delete("docs", receipt="r.jsonl")


def test_a_source_that_came_back_is_named(graph: HLGraph) -> None:
    receipt = graph.delete("docs/a.txt", receipt="r.jsonl").receipt
    graph.ingest("docs/a.txt")
    assert receipt
    assert graph.receipts.verify("r.jsonl").returned == receipt.ids


def test_missing_sources_have_a_receipt(graph: HLGraph) -> None:
    Path("docs/a.txt").unlink()
    report = graph.ingest("docs", delete_missing=True, receipt="r.jsonl", receipt_uris=True)
    assert report.receipt
    assert [source["uri"] for source in report.receipt.content["sources"]] == [_uri("a")]
    assert report.receipt.content["asked"]["by"] == "missing"
    again = graph.ingest("docs", delete_missing=True, receipt="r.jsonl").receipt
    assert again
    assert (again.number, again.ids, again.content["removed"]) == (2, (), {"source": 0})
    with pytest.raises(errors.InputError, match="a receipt is about what was deleted"):
        graph.ingest("docs", receipt="r.jsonl")


def test_a_clock_that_goes_back_does_not_matter(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.delete("docs/a.txt", receipt="r.jsonl")
    monkeypatch.setattr(receipts, "_now", lambda: "1999-01-01T00:00:00+00:00")
    graph.delete("docs/b.txt", receipt="r.jsonl")
    times = [receipt.at for receipt in graph.receipts.verify("r.jsonl").receipts]
    assert times[1] < times[0]


def _fails(graph: HLGraph, path: str, reason: str) -> None:
    with pytest.raises(errors.InputError, match=reason):
        graph.delete("docs/c.txt", receipt=path)
    with pytest.raises(errors.InputError, match=reason):
        graph.ingest("docs", delete_missing=True, receipt=path)


def test_a_file_that_cannot_take_the_receipt_is_refused_before_anything_is_deleted(graph: HLGraph) -> None:
    Path("notes.txt").write_text("my notes\n")
    Path("tree.json").write_text('{"a": 1}\n')
    Path("folder").mkdir()
    graph.in_corpus("other").ingest("docs/a.txt")
    graph.in_corpus("other").delete("docs/a.txt", receipt="other.jsonl")
    cases = {
        "notes.txt": "line 1 is no receipt of hlgraph",
        "tree.json": "line 1 is no receipt of hlgraph",
        "folder": "not a file",
        "none/r.jsonl": "the folder .*none does not exist",
        "other.jsonl": "of corpus 'other', not of 'default'",
    }
    for path, reason in cases.items():
        _fails(graph, path, reason)
    assert Path("notes.txt").read_text() == "my notes\n"
    assert _count(graph) == 3
    if os.access("/proc/version", os.W_OK) is False:
        _fails(graph, "/proc/version", "cannot be written")
    assert _count(graph) == 3
    with pytest.raises(errors.InputError, match="receipt_uris has no effect without receipt"):
        graph.delete("docs/c.txt", receipt_uris=True)


def test_one_changed_byte_is_refused_wherever_it_is(graph: HLGraph) -> None:
    for name in "abc":
        graph.delete(f"docs/{name}.txt", receipt="r.jsonl")
    path = Path("r.jsonl")
    data = path.read_bytes()
    ends = [at for at, byte in enumerate(data) if byte == 10]
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        line = sum(end < at for end in ends) + 1
        with pytest.raises(errors.InputError, match=rf"(line {line}\b|\(line {line + 1}\))"):
            hlgraph.verify_receipts(path)
    lines = data.splitlines(keepends=True)
    damaged = {
        "cut": data[:-9],
        "cut at the end of a line": data[:-1],
        "without the second": lines[0] + lines[2],
        "in another order": lines[1] + lines[0] + lines[2],
        "twice": data + lines[2],
    }
    for name, text in damaged.items():
        path.write_bytes(text)
        with pytest.raises(errors.InputError, match=r"receipt \d \(line \d\)"):
            hlgraph.verify_receipts(path)
        assert name
    path.write_bytes(b"".join(lines[:2]))  # offline, a chain without its end is whole
    assert len(hlgraph.verify_receipts(path).receipts) == 2
    assert graph.receipts.verify(path).missing == 1
    path.write_bytes(b"")
    with pytest.raises(errors.InputError, match="is empty"):
        hlgraph.verify_receipts(path)
    with pytest.raises(errors.InputError, match="cannot be read"):
        hlgraph.verify_receipts("gone.jsonl")


def test_a_receipt_that_was_rewritten_with_its_hash_does_not_fit_the_store(graph: HLGraph) -> None:
    graph.delete("docs/a.txt", receipt="r.jsonl")
    content = json.loads(Path("r.jsonl").read_text())
    content["removed"]["source"] = 9
    content["hash"] = receipts._hash(content)
    Path("r.jsonl").write_text(f"{receipts._canonical(content)}\n")
    assert len(hlgraph.verify_receipts("r.jsonl").receipts) == 1
    with pytest.raises(errors.InputError, match="do not belong to this store"):
        graph.receipts.verify("r.jsonl")


def test_a_file_with_removed_text_gives_no_receipt(graph: HLGraph) -> None:
    leak = Path("store/replies-1.sqlite-journal")
    leak.write_text(f"a copy: {_TEXTS['a']}")
    with pytest.raises(errors.StoreCorruptError, match=r"replies-1.sqlite-journal: holds text of a source"):
        graph.delete("docs/a.txt", receipt="r.jsonl")
    assert _count(graph) == 2
    assert not Path("r.jsonl").exists()
    leak.unlink()
    receipt = graph.delete("docs/a.txt", receipt="r.jsonl").receipt
    assert receipt
    assert (len(receipt.ids), receipt.content["removed"]["chunk"], receipt.content["uncounted"]) == (1, 1, 0)


def test_text_that_another_source_has_too_is_no_remnant(graph: HLGraph) -> None:
    Path("docs/copy.txt").write_text(f"A copy follows. {_TEXTS['a']} That was the copy.")
    graph.ingest("docs")
    receipt = graph.delete("docs/a.txt", receipt="r.jsonl").receipt
    assert receipt
    assert receipt.content["disk"]["with_removed_text"] == 0


def test_the_search_for_bytes_finds_what_is_stored(graph: HLGraph) -> None:
    paths = graph._opened.stores.graph.remnants("default").files
    windows = receipts._windows([*_TEXTS.values(), _uri("a")])
    assert len(receipts._search(paths, windows)) == len(windows)


def test_a_receipt_waits_for_a_search_of_an_older_state(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "_ATTEMPTS", 1)
    monkeypatch.setattr("hlgraph.stores.embedded.database._DRAIN", 100)
    graph.search("Who was born in Tessing?")
    is_pinned, is_over = threading.Event(), threading.Event()

    def pin() -> None:
        stores = graph._opened.stores
        with stores.snapshot():
            list(stores.graph.find(hlgraph.Kind.CHUNK, receipts.Scope("default")))
            is_pinned.set()
            is_over.wait(60)

    thread = threading.Thread(target=pin)
    thread.start()
    assert is_pinned.wait(60)
    try:
        with pytest.raises(errors.StoreUnavailableError, match="the sources are deleted, but"):
            graph.delete("docs/a.txt", receipt="r.jsonl")
    finally:
        is_over.set()
        thread.join()
    receipt = graph.delete("docs/a.txt", receipt="r.jsonl").receipt
    assert receipt
    assert (receipt.number, len(receipt.ids), receipt.content["removed"]["chunk"]) == (1, 1, 1)


class Stopped(BaseException):
    """Ends a deletion in the middle, as a kill does."""


@pytest.mark.parametrize("step", ["_write", "record_receipt", "clear", "vectors.delete"])
def test_a_deletion_that_was_stopped_gives_one_true_receipt(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Before the file is written, between the file and the store, before the notes are dropped, in the second change."""
    monkeypatch.setattr(Remover.__new__, "__defaults__", (1, None, None, None))
    retention = graph._opened.stores.graph.retention
    owner = {"_write": receipts, "record_receipt": retention, "clear": receipts._Notes}.get(
        step, graph._opened.stores.vectors
    )
    name = step.rpartition(".")[2]
    real, left = getattr(owner, name), [1 if step == "vectors.delete" else 0]

    def stop(*given: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return real(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(Stopped):
            graph.delete(["docs/a.txt", "docs/b.txt"], receipt="r.jsonl")
    receipt = graph.delete(["docs/a.txt", "docs/b.txt"], receipt="r.jsonl").receipt
    assert receipt
    assert hlgraph.verify_receipts("r.jsonl").receipts == (receipt,)
    assert graph.receipts.verify("r.jsonl").missing == 0
    content = receipt.content
    assert len(receipt.ids) == 2
    assert (content["removed"]["source"], content["removed"]["chunk"], content["uncounted"]) == (2, 2, 0)
    assert content["gone_before"] == []
    assert {source["uri_sha256"] for source in content["sources"]} == {
        hashlib.sha256(_uri(name).encode()).hexdigest() for name in "ab"
    }
    again = graph.delete(["docs/a.txt", "docs/b.txt"], receipt="r.jsonl").receipt
    assert again
    assert (again.number, again.ids, sorted(again.content["gone_before"])) == (2, (), sorted(receipt.ids))


def test_what_another_command_completed_is_not_counted(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = graph._opened.stores.vectors

    def stop(*_: object) -> int:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(vectors, "delete", stop)
        with pytest.raises(Stopped):
            graph.delete("docs/a.txt", receipt="r.jsonl")
    Path("docs/new.txt").write_text("Emeric Vaude came to the town in 1911.")
    graph.ingest("docs/new.txt")
    receipt = graph.delete("docs/a.txt", receipt="r.jsonl").receipt
    assert receipt
    assert (len(receipt.ids), receipt.content["uncounted"], receipt.content["removed"]) == (1, 1, {"source": 1})


def test_a_restored_backup_goes_on_from_the_file(graph: HLGraph, tmp_path: Path) -> None:
    graph.backup(tmp_path / "backup")
    graph.delete("docs/a.txt", receipt="r.jsonl")
    graph.delete("docs/b.txt", receipt="r.jsonl")
    hlgraph.restore(tmp_path / "backup", "hlgraph://./restored")
    with hlgraph.connect("hlgraph://./restored", embedder=WordEmbedder()) as restored:
        assert len(restored.receipts.verify("r.jsonl").returned) == 2
        receipt = restored.delete("docs/a.txt", receipt="r.jsonl").receipt
        assert receipt
        assert receipt.number == 3


# Holds


def test_a_hold_refuses_a_deletion_before_anything_is_written(graph: HLGraph) -> None:
    hold = graph.holds.add("case 12", "docs/a.txt")
    assert (hold.uris, len(hold.ids)) == ((_uri("a"),), 1)
    for named in (
        {"uris": ["docs/b.txt", "docs/a.txt"]},
        {"uris": "docs"},
        {"where": "title = 'a'"},
        {"everything": True},
    ):
        version = graph.stats()[0].version
        with pytest.raises(errors.HoldError, match="under the hold 'case 12', so nothing was deleted") as caught:
            graph.delete(**named, receipt="r.jsonl")  # type: ignore[arg-type]
        assert (caught.value.hold, caught.value.uri) == ("case 12", _uri("a"))
        assert (graph.stats()[0].version, _count(graph)) == (version, 3)
    assert not Path("r.jsonl").exists()
    assert graph.delete("docs/b.txt").sources_removed == 1
    assert graph.holds.list() == (hold,)
    assert graph.holds.release("case 12") == hold
    version = graph.stats()[0].version
    receipt = graph.delete(everything=True, receipt="r.jsonl").receipt
    assert receipt
    assert (len(receipt.ids), receipt.content["before"]["version"]) == (
        2,
        version,
    )  # nothing is left of what was refused


def test_a_hold_refuses_that_missing_sources_are_deleted(graph: HLGraph) -> None:
    graph.holds.add("case", where="title in ('a', 'b')")
    for name in "ac":
        Path(f"docs/{name}.txt").unlink()
    with pytest.raises(errors.HoldError, match=r"a.txt: under the hold 'case'"):
        graph.ingest("docs", delete_missing=True)
    assert _count(graph) == 3
    graph.holds.release("case")
    assert graph.ingest("docs", delete_missing=True).sources_removed == 2


def test_a_hold_refuses_an_edit_that_removes_text(graph: HLGraph) -> None:
    graph.holds.add("case", ["docs/a.txt"])
    Path("docs/a.txt").write_text("Mara Quill was never born.")
    Path("docs/b.txt").write_text("Ivo Brandt stayed.")
    report = graph.ingest("docs")
    assert report.sources_changed == 1
    (failure,) = report.failed
    assert failure.uri == _uri("a")
    assert "under the hold 'case', so its text, title and metadata were not replaced" in failure.error
    evidence = graph.search("Where was Mara Quill born?", strategy="chunk", unit="chunk").evidence
    assert _TEXTS["a"] in {item.text for item in evidence}
    Path("docs/a.txt").write_text(f"A note of 1999. {_TEXTS['a']} So it was.")
    assert graph.ingest("docs/a.txt").sources_changed == 1
    assert not [item for item in graph.check() if not item.is_fine]


def test_a_hold_refuses_other_metadata_and_titles(graph: HLGraph) -> None:
    document = hlgraph.Document("u:1", "Orla Finch mended the clock of the town hall.", "Clock", {"year": 1900})
    graph.ingest(document)
    graph.holds.add("case", where="year = 1900")
    for other in (
        hlgraph.Document("u:1", document.text, "Clock", {"year": 1950}),
        hlgraph.Document("u:1", document.text, "Tower", {"year": 1900}),
    ):
        assert graph.ingest(other).failed[0].uri == "u:1"
    assert not graph.ingest(document).failed
    with pytest.raises(errors.HoldError):
        graph.delete("u:1")


def test_a_hold_is_also_on_what_comes_later(graph: HLGraph) -> None:
    graph.holds.add("folder", "docs")
    graph.holds.add("year", where="title = 'c'")
    Path("docs/new.txt").write_text("Emeric Vaude came to the town in 1911.")
    graph.ingest("docs/new.txt")
    with pytest.raises(errors.HoldError, match="'folder'"):
        graph.delete("docs/new.txt")


def test_a_hold_that_is_added_while_an_edit_is_prepared_is_kept(
    graph: HLGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes between the comparison and the lock."""
    Path("docs/a.txt").write_text("Mara Quill was never born.")
    from hlgraph.ingest import pipeline

    real = pipeline.extract

    def extract(*given: Any, **named: Any) -> Any:
        if not graph.holds.list():
            graph.holds.add("case", "docs/a.txt")
        return real(*given, **named)

    monkeypatch.setattr(pipeline, "extract", extract)
    report = graph.ingest("docs/a.txt")
    assert [failure.uri for failure in report.failed] == [_uri("a")]
    assert report.sources_changed == 0


def test_holds_survive_a_backup_and_the_end_of_their_corpus(graph: HLGraph, tmp_path: Path) -> None:
    other = graph.in_corpus("other")
    other.ingest("docs/a.txt")
    hold = graph.holds.add("case", "docs/a.txt")
    assert other.holds.list() == ()
    assert other.delete(everything=True).sources_removed == 1
    graph.backup(tmp_path / "backup")
    hlgraph.restore(tmp_path / "backup", "hlgraph://./restored")
    with hlgraph.connect("hlgraph://./restored", embedder=WordEmbedder()) as restored:
        assert restored.holds.list() == (hold,)
        with pytest.raises(errors.HoldError):
            restored.delete("docs/a.txt")


def test_holds_that_cannot_be_are_refused(graph: HLGraph) -> None:
    graph.holds.add("case", "docs/a.txt")
    cases: list[tuple[str, dict[str, object], type[errors.HLGraphError], str]] = [
        ("case", {"uris": "docs/b.txt"}, errors.InputError, "has a hold 'case' already"),
        ("", {"uris": "docs/b.txt"}, errors.InputError, "is no name of a hold"),
        (" ", {"uris": "docs/b.txt"}, errors.InputError, "is no name of a hold"),
        ("a\nb", {"uris": "docs/b.txt"}, errors.InputError, "is no name of a hold"),
        ("x" * 201, {"uris": "docs/b.txt"}, errors.InputError, "is no name of a hold"),
        ("two", {}, errors.InputError, "in one way"),
        ("two", {"uris": "docs/a.txt", "where": "title = 'a'"}, errors.InputError, "in one way"),
        ("two", {"uris": "docs/x.txt"}, errors.UnknownNameError, "docs/x.txt: no source .*; nothing was held"),
        ("two", {"where": "title = 'x'"}, errors.InputError, "there is nothing to hold"),
        ("two", {"where": "colour = 'x'"}, errors.WhereError, "colour"),
        ("two", {"where": "title ="}, errors.WhereError, "title"),
    ]
    for name, named, kind, reason in cases:
        with pytest.raises(kind, match=reason):
            graph.holds.add(name, **named)  # type: ignore[arg-type]
    assert [hold.name for hold in graph.holds.list()] == ["case"]
    with pytest.raises(errors.UnknownNameError, match="has no hold 'x'; it has case"):
        graph.holds.release("x")
    with pytest.raises(errors.UnknownNameError, match="there is no corpus 'none'"):
        graph.in_corpus("none").holds.add("case", "docs/a.txt")
    graph.holds.release("case")
    with pytest.raises(errors.UnknownNameError, match="has no hold 'case'; it has none"):
        graph.holds.release("case")
