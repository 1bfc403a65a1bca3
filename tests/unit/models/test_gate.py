"""The gate before a provider: how its bound moves, and that it holds."""

from __future__ import annotations

import contextlib
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import ModelAnswerError, ModelUnavailableError
from hlgraph.models.executor import Gate


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _call(gate: Gate, clock: _Clock, seconds: float = 1.0, *, error: Exception | None = None) -> None:
    with contextlib.suppress(ModelUnavailableError, ModelAnswerError), gate.slot():
        clock.now += seconds
        if error is not None:
            raise error


def test_busy_provider_halves_the_limit_and_successful_calls_raise_it_by_one_per_round() -> None:
    clock = _Clock()
    gate = Gate(8, clock=clock)
    _call(gate, clock, error=ModelUnavailableError("429"))
    assert gate.limit == 4
    _call(gate, clock, error=ModelUnavailableError("429"))
    assert gate.limit == 2
    for expected in (2, 2, 3, 3, 3, 4):
        _call(gate, clock)
        assert gate.limit == expected
    for _ in range(100):
        _call(gate, clock)
    assert gate.limit == 8


def test_calls_started_before_the_last_cut_do_not_cut_the_limit_again() -> None:
    gate = Gate(8)
    together = threading.Barrier(5, timeout=10)

    def fail() -> None:
        with contextlib.suppress(ModelUnavailableError), gate.slot():
            together.wait()
            raise ModelUnavailableError("429")

    threads = [threading.Thread(target=fail) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert gate.limit == 4


def test_slow_calls_lower_the_limit() -> None:
    clock = _Clock()
    gate = Gate(8, clock=clock)
    for _ in range(20):
        _call(gate, clock, 1.0)
    assert gate.limit == 8
    for _ in range(4):
        _call(gate, clock, 6.0)
    assert gate.limit < 8


def test_refused_request_does_not_change_the_limit() -> None:
    clock = _Clock()
    gate = Gate(4, clock=clock)
    _call(gate, clock, error=ModelAnswerError("400"))
    assert gate.limit == 4


def test_no_call_begins_while_the_provider_asks_to_wait_a_minute_at_most() -> None:
    clock = _Clock()
    gate = Gate(4, clock=clock)
    _call(gate, clock, error=ModelUnavailableError("429", retry_after=7.0))
    assert gate.pause == 7.0

    class StopError(Exception):
        pass

    def stop() -> None:
        raise StopError

    with pytest.raises(StopError), gate.slot(stop):
        pytest.fail("a call began")
    clock.now += 7
    _call(gate, clock)
    _call(gate, clock, error=ModelUnavailableError("429", retry_after=3600.0))
    assert gate.pause == 60.0


def test_concurrency_never_exceeds_the_limit() -> None:
    gate = Gate(3)
    lock, inside, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with gate.slot():
                with lock:
                    inside += 1
                    most = max(most, inside)
                with lock:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most <= 3


@given(
    st.integers(1, 16),
    st.lists(st.tuples(st.sampled_from(["ok", "busy", "refused"]), st.floats(0, 100)), max_size=60),
)
def test_limit_stays_between_one_and_the_maximum(most: int, outcomes: list[tuple[str, float]]) -> None:
    clock = _Clock()
    gate = Gate(most, clock=clock)
    errors = {"ok": None, "busy": ModelUnavailableError("429"), "refused": ModelAnswerError("400")}
    for outcome, seconds in outcomes:
        before = gate.limit
        _call(gate, clock, seconds, error=errors[outcome])
        assert 1 <= gate.limit <= most
        if outcome == "busy":
            assert gate.limit <= before
