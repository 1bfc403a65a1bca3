"""What the processes of an ingest share, without a cluster: the purse across workers, the stages' errors, the parts."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlgraph import Budget, Document, IngestOptions
from hlgraph.chunk import ContentDefinedChunker
from hlgraph.errors import BudgetError, ClusterError, ModelAccessError
from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.ingest.pipeline import Steps
from hlgraph.ingest.report import Failure, Report
from hlgraph.ingest.run import Job
from hlgraph.integrations.ray.stages import Books, FarBooks, FarPurse, Limits, parts
from hlgraph.models.accounts.budget import Purse
from hlgraph.models.accounts.ledger import Ledger, Purpose, total
from hlgraph.models.choose import LEDGER_FILE
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.protocols import Completion
from hlgraph.read import Files
from hlgraph.settings import ModelSettings, Settings
from hlgraph.stores.open import open_stores
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder


class Near(FarBooks):
    """The books as a worker sees them, without a process between."""

    def ask(self, name: str, *args: object, **named: object) -> object:
        args, named = pickle.loads(pickle.dumps((args, named)))  # noqa: S301 - made here
        return pickle.loads(pickle.dumps(getattr(self.actor, name)(*args, **named)))  # noqa: S301


def books(folder: Path, budget: Budget) -> Books:
    models = ModelSettings(ledger=str(folder), quarantine=str(folder))
    return Books(Settings(store=f"hlgraph://{folder}", models=models), "c", limits=Limits(budget))


def test_purse_attempt_returns_none_while_a_call_in_progress_must_end_first() -> None:
    purse = Purse(Budget(max_tokens=100))
    first = purse.attempt(60)
    assert first is not None
    assert (purse.attempt(60), purse.under_way) == (None, 1)
    purse.settle(first, 30, output_tokens=0)
    assert purse.under_way == 0
    assert purse.attempt(60) is not None


def test_abandoned_call_counts_at_its_expected_cost() -> None:
    purse = Purse(Budget(max_tokens=100))
    lost = purse.attempt(60)
    assert lost is not None
    purse.abandon(lost)
    assert (purse.under_way, purse.tokens) == (0, 0)
    assert purse.attempt(40) is not None
    with pytest.raises(BudgetError):
        purse.attempt(50)


def test_workers_share_one_budget_and_a_killed_worker_blocks_no_other(tmp_path: Path) -> None:
    shared = books(tmp_path, Budget(max_tokens=100))
    one, two = (FarPurse(Near(shared, name)) for name in ("one", "two"))
    one.settle(one.admit(40), 30, output_tokens=10)
    one.admit(40)  # the call under way when the process is killed
    assert shared.attempt("two", 40) is None
    shared.join("one")
    assert shared.spending().under_way == 0
    with pytest.raises(BudgetError):
        two.admit(40)
    assert shared.spending()[:3] == (1, 30, 10)
    with pytest.raises(BudgetError):
        one.admit(1)


def test_error_that_stops_one_worker_stops_all(tmp_path: Path) -> None:
    shared = books(tmp_path, Budget(max_tokens=100))
    one, two = (FarPurse(Near(shared, name)) for name in ("one", "two"))
    one.end(ModelAccessError("the key is refused"))
    with pytest.raises(ModelAccessError, match="the key is refused"):
        two.admit(1)
    assert isinstance(two.ended(), ModelAccessError)


def test_lost_actor_stops_the_calls_of_a_worker() -> None:
    purse = FarPurse(Near(None))
    purse.end(ClusterError("gone"))
    with pytest.raises(ClusterError, match="gone"):
        purse.admit(1)


def test_ledger_replies_and_quarantine_of_a_worker_write_the_files_of_the_caller(tmp_path: Path) -> None:
    far = Near(books(tmp_path, Budget(max_tokens=100)), "one")
    chat = ScriptedChat([Completion("Yes.", 100, 50)])
    executor = Executor(chat, accounts=Accounts(corpus="c", ledger=far.ledger(), replies=far.replies()))
    asked = executor.begin(purse=FarPurse(far)).about(Purpose(stage="extract"))
    replies = [asked.complete("s", "u", max_tokens=5) for _ in range(2)]
    assert [reply.is_kept for reply in replies] == [False, True]
    spent = total(Ledger(next(tmp_path.rglob(LEDGER_FILE))).spent())
    assert (spent.calls, spent.kept_calls, spent.input_tokens) == (1, 1, 100)
    chunk = ChunkInput("A bridge.", source="x")
    path = far.quarantine().keep(chunk, model="m", extractor="e", call="c/1", reason="r", replies=["{"])
    assert path is not None
    assert path.is_file()
    failure = far.quarantine().find(chunk)
    assert failure is not None
    assert (failure.chunk, failure.replies, failure.tries) == (chunk, ("{",), 1)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    steps = Steps(ContentDefinedChunker(80, 0.2), LocalExtractor(), WordEmbedder())
    for name, length in (("a", 9_000), ("b", 9_000), ("c", 30_000), ("d", 10)):
        (tmp_path / f"{name}.txt").write_text("word " * (length // 5))
    with opened.closing:
        yield Job([str(tmp_path)], [], IngestOptions(), "c", opened.stores, steps, set(), Files())


def test_files_are_split_in_order_into_parts_of_similar_size(job: Job, tmp_path: Path) -> None:
    found = parts(job, Report(), workers=1, most=100_000)
    names = [[Path(path).stem for path in part.paths] for part in found]
    assert names == [["a", "b"], ["c"], ["d"]]
    assert {part.characters for part in found} == {48_010 // 4}
    assert [len(part.paths) for part in parts(job, Report(), workers=1, most=10_000)] == [2, 1, 1]


def test_document_with_the_uri_of_a_file_replaces_the_file_which_is_a_failure(job: Job, tmp_path: Path) -> None:
    uri = (tmp_path / "a.txt").as_uri()
    report = Report()
    found = parts(job._replace(documents=[Document(uri, "Another text.")]), report, workers=1, most=100_000)
    assert [item.uri for item in report.failed] == [uri]
    assert "read before in this run" in report.failed[0].error
    assert found[0].documents[0].uri == uri
    assert all(uri in part.taken for part in found[1:])


def test_report_sums_the_counts_of_its_parcels() -> None:
    report = Report(sources_added=1, sources_unchanged=2, seconds={"read": 1.0})
    other = Report(
        sources_unchanged=3,
        failed=[Failure("a", "gone")],
        problems=[Failure("b", "empty")],
        seconds={"read": 2.0, "cut": 4.0},
    )
    report.include(other)
    report.include(other)
    assert (report.sources_added, report.sources_unchanged) == (1, 8)
    assert (report.failed, report.problems) == ([Failure("a", "gone")] * 2, [Failure("b", "empty")] * 2)
    assert report.seconds == {"read": 5.0, "cut": 8.0}
