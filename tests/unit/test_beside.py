"""Work in a thread beside its caller: an error is raised once, by who was first; an interrupt waits no longer than it must."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar

import pytest

from hlgraph.errors import StoreLockedError
from hlgraph.ingest.pipeline import Beside
from hlgraph.stores.concurrency import WITHOUT_LIMIT, Patience

_PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


def _fail() -> str:
    raise OSError("the disk is full")


def _failing(work: Callable[[], object], at_once: threading.Event) -> None:
    """Begins work, and fails; the work goes on once it has."""
    with Beside[object]() as beside:
        beside.begin(work)
        at_once.set()
        raise ValueError("the next batch cannot be read")


@pytest.mark.parametrize("is_apart", [True, False])
def test_work_has_the_context_of_its_caller_and_its_result_is_waited_for(*, is_apart: bool) -> None:
    token = _PLACE.set("here")
    with Beside[str](is_apart=is_apart) as beside:
        beside.begin(_PLACE.get)
        assert beside.end() == "here"
    _PLACE.reset(token)


@pytest.mark.parametrize("is_apart", [True, False])
def test_an_error_of_the_work_is_raised_once_where_it_is_waited_for(
    caplog: pytest.LogCaptureFixture, *, is_apart: bool
) -> None:
    def waited() -> None:
        with Beside[str](is_apart=is_apart) as beside:
            beside.begin(_fail)
            beside.end()

    with pytest.raises(OSError, match="full"):
        waited()
    assert not caplog.records


def test_work_that_nobody_waited_for_ends_with_the_block_and_its_error_is_raised() -> None:
    with pytest.raises(OSError, match="full"), Beside[str]() as beside:
        beside.begin(_fail)


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
        with Beside[None]() as beside:
            beside.begin(lambda: Patience(WITHOUT_LIMIT).repeat(attempt))
            assert waits.wait(10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "another process is writing" in caplog.text
