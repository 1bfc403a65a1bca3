"""Work in other threads: no error is lost, and nothing goes on when the block or the call has ended."""

from __future__ import annotations

import contextlib
import os
import threading
from contextvars import ContextVar
from functools import partial

import pytest

from hlgraph.stores.concurrency import at_once, side_by_side

_PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


def test_the_work_runs_beside_the_block_in_its_context() -> None:
    is_inside, seen = threading.Event(), list[str]()
    token = _PLACE.set("here")

    def work() -> None:
        assert is_inside.wait(10)
        seen.append(_PLACE.get())

    with side_by_side(work) as finished:
        is_inside.set()
        finished()
        finished()
        assert seen == ["here"]
    _PLACE.reset(token)


def test_an_error_of_the_work_is_raised_where_it_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    def work() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"), side_by_side(work) as finished:
        finished()
    assert not caplog.records


def test_where_both_fail_the_block_raises_and_the_other_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    has_failed, is_over = threading.Event(), list[bool]()

    def work() -> None:
        assert has_failed.wait(10)
        is_over.append(True)
        raise OSError("the disk is full")

    def interrupted() -> None:
        with side_by_side(work):
            has_failed.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert is_over
    assert "the disk is full" in caplog.text


def test_functions_run_at_once_in_the_context_of_the_caller() -> None:
    token, met = _PLACE.set("here"), threading.Barrier(3)

    def work(name: str) -> str:
        met.wait(10)  # broken if they ran one after the other
        return f"{name} {_PLACE.get()}"

    assert at_once([partial(work, name) for name in "abc"]) == ["a here", "b here", "c here"]
    assert at_once([threading.get_ident]) == [threading.get_ident()]
    assert at_once([]) == []
    _PLACE.reset(token)


def test_the_first_error_is_raised_when_all_have_ended_and_the_others_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    has_failed, is_over = threading.Event(), list[bool]()

    def slow() -> None:
        assert has_failed.wait(10)
        is_over.append(True)
        raise OSError("the network is down")

    def fast() -> None:
        has_failed.set()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="network"):
        at_once([slow, fast])
    assert is_over
    assert "the disk is full" in caplog.text


def test_a_thread_is_used_again_and_works_of_a_crowd_run_in_the_threads_of_their_callers() -> None:
    threads = set[int]()
    for _ in range(50):
        with side_by_side(threading.get_ident) as finished:
            threads.add(finished())
    assert len(threads) <= 16  # a thread that has answered may not be free yet
    assert threading.get_ident() not in threads
    with contextlib.ExitStack() as crowd:
        is_over = threading.Event()
        crowd.callback(is_over.set)
        for _ in range(16):
            crowd.enter_context(side_by_side(partial(is_over.wait, 30)))
        runs = list[int]()
        with side_by_side(lambda: runs.append(threading.get_ident())) as finished:
            finished()
            finished()
        with side_by_side(lambda: runs.append(threading.get_ident())):
            pass  # it runs, whether its result is asked for or not
        assert runs == [threading.get_ident()] * 2
        is_over.set()


def test_a_fork_has_threads_of_its_own() -> None:
    with side_by_side(int) as finished:
        finished()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with side_by_side(lambda: b"done") as finished:
            os.write(write, finished())
        os._exit(0)
    assert os.read(read, 4) == b"done"
    assert os.waitpid(child, 0)[1] == 0
    os.close(read)
    os.close(write)
