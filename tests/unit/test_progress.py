"""Progress: what a listener hears of each step, also inside the embedding of a batch, and the lines without a terminal."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hlgraph
from hlgraph import HLGraph, progress
from hlgraph.cli import command
from hlgraph.errors import StoreLockedError
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.local.bert import run_batches
from hlgraph.models.remote import RemoteEmbedder
from hlgraph.progress import Progress, Work, advance, count, expect, listening, step
from hlgraph.records import Document
from hlgraph.testing.embedder import WordEmbedder

DOCUMENTS = [
    Document(f"doc:{at}", f"The Bridge {at} crosses the Orne. Ivo Brandt built it in 18{at}.", f"Bridge {at}")
    for at in range(10, 16)
]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Progress]:
    """What was heard; every advance is told."""
    monkeypatch.setattr(progress, "EVERY", 0.0)
    return []


def _done(heard: Sequence[Progress], name: str) -> list[tuple[int, int | None]]:
    return [(at.done, at.total) for at in heard if at.step == name]


def test_events_inside_a_step_are_throttled(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "EVERY", 0.125)
    heard: list[Progress] = []
    with listening(heard.append), step("embed", 100, unit="texts"):
        for _ in range(100):
            clock[0] += 1 / 64
            advance("embed")
    assert [at.done for at in heard] == [0, *range(8, 100, 8), 100]
    assert (heard[4].rate, heard[4].seconds_left) == (64.0, 68 / 64)
    advance("embed")  # without a listener nothing happens


def test_the_remaining_time_is_estimated_from_the_bytes_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand bytes of unchanged sources at once, then ten a second: the rest takes what the last ones took."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    heard: list[Progress] = []
    with listening(heard.append):
        expect(500, 3_000)
        for at in range(101):
            clock[0] += 1
            count(sources=1 if at else 100, chunks=1, statements=1, size=1_000 + 10 * at)
        with step("embed", 4, unit="texts"):
            pass
    assert (heard[0].found, heard[0].sources, heard[0].seconds_left) == (500, 200, pytest.approx(100))


def test_the_remaining_time_follows_the_work_on_one_large_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in two parts: each is extracted for 10 s and embedded for 30 s; it is written for 34 s, a guess before that."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "EVERY", 0.0)
    heard: list[Progress] = []

    def work(name: str, seconds: int, part: Work) -> None:
        with step(name, 10, unit="units", work=part):
            for _ in range(10):
                clock[0] += seconds / 10
                advance(name)

    with listening(heard.append):
        expect(1, 8_000)
        for part in (Work(0, 8_000, 0.0, 0.5), Work(0, 8_000, 0.5, 1.0)):
            work("extract", 10, part)
            work("embed", 30, part)
        work("persist", 34, Work(0, 8_000))
        count(sources=1, chunks=9, statements=9, size=8_000)
    left = [(at.step, at.done, at.seconds_left) for at in heard if at.seconds_left is not None]
    assert left[0][:2] == ("extract", 1)  # from the first chunk on
    assert ("embed", 10, pytest.approx(34, abs=20)) in left
    assert min(seconds for name, _, seconds in left if name != "persist") > 20
    persist = [seconds for name, _, seconds in left if name == "persist"]
    assert sorted(persist, reverse=True) == persist
    assert persist[-2] < 10


def test_the_shares_of_steps_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a batch has taken 1 s of extraction, 8 s of embedding and 1 s of writing, half of the next one's embedding is half."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "EVERY", 0.0)
    heard: list[Progress] = []
    with listening(heard.append):
        expect(2, 2_000)
        for start in (0, 1_000):
            for name, seconds in (("extract", 1), ("embed", 8), ("persist", 1)):
                with step(name, 2, unit="units", work=Work(start, start + 1_000)):
                    clock[0] += seconds / 2
                    advance(name)
                    clock[0] += seconds / 2
    assert (heard[13].step, heard[13].done, heard[13].seconds_left) == ("embed", 1, pytest.approx(5, rel=0.1))


def test_the_remaining_time_is_steady_where_a_batch_takes_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts are embedded first: the first half of each batch takes 20 s, the second half 180 s, and writing 40 s."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "EVERY", 0.0)
    ratios: list[float] = []
    with listening(lambda at: ratios.append((at.seconds_left or 0.0) / max(1.0, 10 * 240 - at.seconds))):
        expect(100, 10_000)
        for start in range(0, 8_000, 1_000):
            for name, halves in (("extract", (1, 1)), ("embed", (20, 180)), ("persist", (20, 20))):
                with step(name, 100, unit="units", work=Work(start, start + 1_000)):
                    for at in range(100):
                        clock[0] += halves[at // 50] / 50
                        advance(name)
            count(sources=10, size=start + 1_000)
            if start == 2_000:
                ratios.clear()
    assert 0.7 < min(ratios) <= max(ratios) < 1.4


def test_a_step_without_units_is_not_reported(heard: list[Progress], tmp_path: Path, graph: HLGraph) -> None:
    """No "0 of 0": neither for documents, of which nothing is looked for, nor at the end of the files."""
    (tmp_path / "one.txt").write_text("The Bridge crosses the Orne.")
    with listening(heard.append):
        with step("extract", 0, unit="chunks"):
            pass
        with step("read", unit="files"):
            pass
        with graph:
            graph.ingest(DOCUMENTS[:1])
            graph.ingest(str(tmp_path / "one.txt"))
    assert [(at.step, at.done) for at in heard if at.total == 0 and at.unit] == []
    assert [(at.done, at.total) for at in heard if at.step == "look"] == [(0, None), (1, None), (1, 1)]


def test_advance_ignores_other_steps_and_a_failed_step_reports_no_end(heard: list[Progress]) -> None:
    def ask() -> None:
        with step("ask", 2, unit="questions"):
            advance("embed")
            with step("embed", 1, unit="texts"):
                advance("embed")
            raise ValueError("stop")

    with listening(heard.append), pytest.raises(ValueError, match="stop"):
        ask()
    assert _done(heard, "ask") == [(0, 2)]
    assert _done(heard, "embed") == [(0, 1), (1, 1)]


def _local(texts: Sequence[str]) -> NDArray[np.float32]:
    """The batches of the local embedder, in two threads."""
    rows = np.zeros((len(texts), 4), dtype=np.float32)
    run_batches(lambda batch: None, [np.arange(3), np.arange(3, len(texts))], threads=2)
    return rows


def _remote(texts: Sequence[str]) -> NDArray[np.float32]:
    embedder = RemoteEmbedder("x:y", lambda some, _: [[1.0, 0.0]] * len(some), batch=3, parallel=2)
    return embedder.embed(texts)


@pytest.mark.parametrize("embed", [_local, _remote])
def test_embedding_is_never_silent(embed: Callable[[Sequence[str]], object], heard: list[Progress]) -> None:
    with listening(heard.append), step("embed", 5, unit="texts"):
        embed([f"text {at}" for at in range(5)])
    assert _done(heard, "embed") == [(0, 5), (3, 5), (5, 5)]


def test_cached_texts_count_as_done_at_once(heard: list[Progress], tmp_path: Path) -> None:
    inner = RemoteEmbedder("x:y", lambda some, _: [[1.0, 0.0]] * len(some), batch=2)
    cache = CachedEmbedder(inner, tmp_path / "vectors.db")
    cache.embed(["a", "b", "c"])
    with listening(heard.append), step("embed", 6, unit="texts"):
        cache.embed(["a", "b", "c", "d", "e", "d"])
    cache.close()
    assert _done(heard, "embed") == [(0, 6), (4, 6), (6, 6)]


class _Telling(WordEmbedder):
    """Reports each text, as the embedders of models do."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for _ in texts:
            advance("embed")
        return super().embed(texts)


@pytest.mark.parametrize("kind", [RuntimeError, OSError, TimeoutError, ValueError, StoreLockedError])
def test_an_error_of_the_listener_ends_the_work_as_it_is_wherever_it_is_raised(
    kind: type[Exception], tmp_path: Path, heard: list[Progress]
) -> None:
    (tmp_path / "docs").mkdir()
    for document in DOCUMENTS[:2]:
        (tmp_path / "docs" / f"{document.title}.txt").write_text(document.text)
    raised: list[str] = []  # the step of each

    def stop(at: Progress) -> None:
        heard.append(at)
        if len(heard) > len(raised):
            raised.append(at.step)
            raise kind("stop")

    with hlgraph.connect(f"hlgraph://{tmp_path}/store", embedder=_Telling()) as graph:
        for _ in range(100):
            heard.clear()
            with contextlib.suppress(kind):
                report = graph.ingest([str(tmp_path / "docs")], on_progress=stop)
                break
            assert len(heard) == len(raised), heard[-1]  # nothing is told to a listener that has failed
        else:
            raise AssertionError(heard)
        assert report.sources_added + report.sources_unchanged == 2
        assert all(finding.is_fine for finding in graph.check())
    assert {"look", "read", "embed", "persist"} <= set(raised)


def test_every_long_call_reports_its_steps(graph: HLGraph, heard: list[Progress]) -> None:
    steps: dict[str, list[str]] = {}

    def told(name: str, call: Callable[..., object]) -> None:
        heard.clear()
        call(on_progress=heard.append)
        steps[name] = list(dict.fromkeys(at.step for at in heard))

    with graph:
        told("ingest", lambda on_progress: graph.ingest(DOCUMENTS, on_progress=on_progress))
        assert (heard[-1].sources, heard[-1].found) == (6, 6)
        told("communities", graph.communities.build)
        told("hierarchy", graph.hierarchy.build)
        told("candidates", graph.merges.propose)
        told("merges", lambda on_progress: graph.merges.judge(by="rules", on_progress=on_progress))
        told("reconcile", graph.reconcile)
        told("doctor", lambda on_progress: _checked(graph, on_progress))
        assert ("check content of statements", 12, 12) in {(at.step, at.done, at.total) for at in heard}
        with HLGraph(graph.settings, embedder=WordEmbedder(), chat="openai:gpt-4o-mini") as other:
            told("plan", lambda on_progress: other.plan([Document("doc:new", "A mill.")], on_progress=on_progress))
        told("delete", lambda on_progress: graph.delete(["doc:10", "doc:11"], on_progress=on_progress))
    assert _done(heard, "remove") == [(0, 2), (2, 2)]
    assert {name for name in steps.pop("doctor") if not name.startswith("check")} == set()
    assert steps == {
        "ingest": ["migrate", "read", "compare", "extract", "embed", "persist"],
        "communities": ["cluster", "persist"],
        "hierarchy": ["read", "cluster", "summarise", "embed", "persist"],
        "candidates": ["read", "pair", "compare"],
        "merges": ["read", "pair", "compare"],
        "reconcile": ["compare"],
        "plan": ["read", "compare"],
        "delete": ["remove"],
    }


def _checked(graph: HLGraph, on_progress: Callable[[Progress], None]) -> None:
    with listening(on_progress):
        graph.check()


@pytest.mark.parametrize("is_json", [False, True])
def test_a_line_is_printed_periodically_without_a_terminal(
    is_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second line comes from a step that tells nothing meanwhile."""
    monkeypatch.setattr(command, "EVERY", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with command.progress("ingesting", is_json=is_json):
        expect(12, 3_000)
        count(sources=1_000, chunks=2_000, statements=3_000, size=1_500)
        with step("embed", 2_000, unit="texts"):
            advance("embed", 500)
            lines: list[str] = []
            while len(lines) < 2:
                time.sleep(0.02)
                out, err = capsys.readouterr()
                lines += err.splitlines()
                assert out == ""
    if is_json:
        told = json.loads(lines[0])["progress"]
        assert (told["command"], told["step"], told["done"], told["total"]) == ("ingesting", "embed", 500, 2_000)
        return
    begin = "ingesting: 12 files; 1,000 sources, 2,000 chunks, 3,000 statements; embedding 500 of 2,000 texts, "
    assert lines[0].startswith(begin)
    assert lines[0].endswith("a second; 0 s")  # what the estimate gave has passed


def test_short_and_quiet_commands_print_no_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with command.progress("ingesting"), step("read"):
        pass
    monkeypatch.setattr(command, "EVERY", 0.01)
    with command.progress("ingesting", quiet=True), step("read"):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_step_after_the_last_source_has_its_own_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    heard: list[Progress] = []
    with listening(heard.append):
        expect(2, 3_000)
        clock[0] = 5
        count(sources=2, chunks=2, statements=2, size=3_000)
        with step("ask", 100, unit="questions"):
            clock[0] = 15
            advance("ask", 50)
    assert [at.seconds_left for at in heard] == [None, 10.0, 0.0]


@pytest.mark.parametrize(("rate", "said"), [(1_234.5, "1,234"), (12.4, "12"), (9.7, "10"), (9.4, "9"), (0.25, "0.2")])
def test_a_rate_is_a_plain_number(rate: float, said: str) -> None:
    assert command._rate(rate) == said
