"""Calls to stores are heard by whoever listens in the same context, and cost nothing otherwise."""

from __future__ import annotations

import contextvars
import json
import threading
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.stores import trace
from hlgraph.stores.trace import MOST_CHARACTERS, MOST_VALUES, Call, copyable, literal


def _never() -> NoReturn:
    raise AssertionError("nobody listens, so nothing may be worked out")


def _one(**params: object) -> Call:
    """The call as it is kept with these parameters."""
    with trace.listening() as heard, trace.traced("neo4j", "x", text="RETURN 1", language="cypher", params=params):
        pass
    return heard.calls[0]


def test_nothing_is_worked_out_when_nobody_listens() -> None:
    assert not trace.is_listening()
    with trace.step("a"), trace.traced("embedded", "x", text=_never, params=_never) as call:
        call.rows = 3
    trace.count_rows(5)


def test_a_listener_hears_name_rows_step_and_time() -> None:
    with trace.listening() as heard:
        with trace.step("search"), trace.traced("embedded", "x", text="words") as call:
            call.rows, call.bytes, call.round_trips = 3, 10, 2
        with trace.traced("embedded", "y", text="words"):
            pass
        trace.count_rows(7)
    first, second = heard.calls
    assert (first.step, first.rows, first.bytes, first.round_trips) == ("search", 3, 10, 2)
    assert (second.step, second.rows, second.bytes, second.round_trips) == ("", 7, None, 1)
    assert first.milliseconds >= 0


def test_the_inner_step_names_the_call_and_the_outer_one_comes_back() -> None:
    with trace.listening() as heard, trace.step("outer"):
        with trace.step("inner"), trace.traced("embedded", "x", text=""):
            pass
        with trace.traced("embedded", "y", text=""):
            pass
    assert [call.step for call in heard.calls] == ["inner", "outer"]


def test_time_of_an_inner_call_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 10.0])
    monkeypatch.setattr(trace.telemetry, "is_on", lambda: False)  # another test may have loaded OpenTelemetry
    monkeypatch.setattr(trace.time, "perf_counter", lambda: next(clock))
    with (
        trace.listening() as heard,
        trace.traced("embedded", "outer", text=""),
        trace.traced("embedded", "inner", text=""),
    ):
        pass
    assert [(call.name, call.milliseconds) for call in heard.calls] == [("inner", 2_000.0), ("outer", 8_000.0)]


def test_a_call_that_fails_is_heard_and_its_error_goes_on() -> None:
    with trace.listening() as heard, pytest.raises(ValueError, match="away"), trace.traced("neo4j", "x", text=""):
        raise ValueError("away")
    assert [(call.name, call.is_failed) for call in heard.calls] == [("x", True)]


def test_listeners_inside_each_other_hear_their_own() -> None:
    with trace.listening() as outer:
        with trace.listening() as inner, trace.traced("embedded", "x", text=""):
            pass
        with trace.traced("embedded", "y", text=""):
            pass
    assert ([call.name for call in inner.calls], [call.name for call in outer.calls]) == (["x"], ["y"])


def test_another_thread_is_heard_in_a_copy_of_the_context_only() -> None:
    def work() -> None:
        with trace.traced("embedded", "x", text=""):
            pass

    with trace.listening() as heard:
        for target, arguments in ((work, ()), (contextvars.copy_context().run, (work,))):
            thread = threading.Thread(target=target, args=arguments)
            thread.start()
            thread.join()
    assert [call.name for call in heard.calls] == ["x"]


def test_long_lists_and_texts_are_cut_and_it_is_said() -> None:
    call = _one(ids=["x"] * (MOST_VALUES + 1), text="y" * (MOST_CHARACTERS + 1), few=["z"])
    assert len(call.params["ids"]) == MOST_VALUES  # type: ignore[arg-type]
    assert len(call.params["text"]) == MOST_CHARACTERS  # type: ignore[arg-type]
    assert call.cut == {"ids": MOST_VALUES + 1, "text": MOST_CHARACTERS + 1}
    assert f"// $ids is cut: it had {MOST_VALUES + 1:,} values" in call.copyable


def test_a_list_inside_a_body_is_cut_where_it_stands() -> None:
    call = _one(query={"terms": [{"id": list(range(MOST_VALUES + 2))}]})
    assert call.cut == {"query.terms[0].id": MOST_VALUES + 2}


@pytest.mark.parametrize(
    "vector", [np.ones(384, np.float32), [0.5] * 384, (0.5,) * 384], ids=["array", "list", "tuple"]
)
def test_vectors_are_never_written_out(vector: object) -> None:
    call = _one(body={"vector": vector}, data=b"abc")
    assert call.params == {"body": {"vector": "<384 numbers>"}, "data": "<3 bytes>"}


def test_what_is_kept_is_json() -> None:
    call = _one(a=None, b=True, c=1.5, d={"x", "y"}, e=("z",), f=object())
    assert json.loads(json.dumps(call.params)) == {
        "a": None, "b": True, "c": 1.5, "d": ["x", "y"], "e": ["z"], "f": "<object>"
    }  # fmt: skip


def test_only_cypher_is_copyable_and_each_parameter_has_a_line() -> None:
    call = _one(corpus="d'Or", ids=["a", "b"], k=3)
    assert call.copyable == ":param corpus => 'd\\'Or'\n:param ids => ['a', 'b']\n:param k => 3\nRETURN 1;"
    with trace.listening() as heard, trace.traced("embedded", "x", text="SELECT 1", language="sql"):
        pass
    assert heard.calls[0].copyable == ""


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_a_literal_is_one_line_without_control_characters(value: trace.Value) -> None:
    made = literal(value)
    assert made.splitlines() in ([made], [])
    assert all(character >= " " for character in made)


def test_every_end_of_a_line_is_escaped() -> None:
    assert literal("a\x85b\x1cc\u2029d\r\n") == "'a\\u0085b\\u001Cc\\u2029d\\r\\n'"


def test_a_backslash_before_u_is_no_code_point() -> None:
    assert literal("C:\\users") == "'C:\\\\' + 'users'"
    assert "\\u" not in literal("C:\\users").replace("\\\\", "")


def test_names_that_are_no_words_are_quoted() -> None:
    assert copyable(Call("neo4j", "x", "cypher", "RETURN 1", {"a`b": 1})).startswith(":param `a``b` => 1")
