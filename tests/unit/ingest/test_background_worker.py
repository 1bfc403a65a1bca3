"""Work in a background thread: the first error is raised once, and an interrupt waits no longer than it must."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from hlgraph.errors import StoreLockedError
from hlgraph.ingest.pipeline import BackgroundWorker
from hlgraph.stores.concurrency import WITHOUT_LIMIT, LockWait, Retry

_PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


def _fail() -> str:
    raise OSError("the disk is full")


def _failing(work: Callable[[], object], at_once: threading.Event) -> None:
    """Begins work, and fails; the work goes on once it has."""
    with BackgroundWorker[object]() as worker:
        worker.begin(work)
        at_once.set()
        raise ValueError("the next batch cannot be read")


@pytest.mark.parametrize("is_apart", [True, False])
def test_work_has_the_context_of_its_caller_and_its_result_is_waited_for(*, is_apart: bool) -> None:
    token = _PLACE.set("here")
    with BackgroundWorker[str](is_apart=is_apart) as worker:
        worker.begin(_PLACE.get)
        assert worker.end() == "here"
    _PLACE.reset(token)


@pytest.mark.parametrize("is_apart", [True, False])
def test_an_error_of_the_work_is_raised_once_where_it_is_waited_for(
    caplog: pytest.LogCaptureFixture, *, is_apart: bool
) -> None:
    def waited() -> None:
        with BackgroundWorker[str](is_apart=is_apart) as worker:
            worker.begin(_fail)
            worker.end()

    with pytest.raises(OSError, match="full"):
        waited()
    assert not caplog.records


def test_work_that_nobody_waited_for_ends_with_the_block_and_its_error_is_raised() -> None:
    with pytest.raises(OSError, match="full"), BackgroundWorker[str]() as worker:
        worker.begin(_fail)


def test_where_both_fail_the_error_of_what_was_begun_first_is_raised() -> None:
    may_fail = threading.Event()

    def work() -> str:
        assert may_fail.wait(10)
        return _fail()

    with pytest.raises(OSError, match="full"):
        _failing(work, may_fail)


def test_where_the_caller_fails_the_work_is_done_first() -> None:
    may_end, done = threading.Event(), list[str]()

    def work() -> None:
        assert may_end.wait(10)
        done.append("written")

    with pytest.raises(ValueError, match="read"):
        _failing(work, may_end)
    assert done == ["written"]


def test_an_interrupt_ends_the_wait_of_the_work_for_the_right_to_write(caplog: pytest.LogCaptureFixture) -> None:
    waits = threading.Event()

    def attempt() -> None:
        waits.set()
        raise StoreLockedError("another process is writing")

    def interrupted() -> None:
        with BackgroundWorker[None]() as worker:
            worker.begin(lambda: LockWait(WITHOUT_LIMIT).repeat(attempt))
            assert waits.wait(10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "another process is writing" in caplog.text


def test_waits_grow_to_their_bound_and_end_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    retry = Retry(10.0, first=1.0, longest=4.0)
    assert retry.goes_on(0.25)
    while retry.goes_on():
        pass
    assert waits[0] == 0.25
    assert all(most / 2 <= wait <= most for wait, most in zip(waits[1:-1], (2, 4, 4, 4, 4), strict=False))
    assert sum(waits) == pytest.approx(10.0)
    assert retry.is_over


def test_what_is_given_up_waits_no_more() -> None:
    given_up = threading.Event()
    given_up.set()
    retry = Retry(WITHOUT_LIMIT, given_up=given_up)
    assert retry.is_over
    assert not retry.goes_on()
