"""Calls to providers: which errors become which, what is tried again, what is hidden."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable

import numpy as np
import pytest

from hlgraph.errors import (
    HLGraphError,
    InputError,
    ModelAccessError,
    ModelAnswerError,
    ModelMismatchError,
    ModelUnavailableError,
)
from hlgraph.models.calls import Patience, call, mapped, without_secrets
from hlgraph.models.remote import RemoteEmbedder, RemoteReranker


class _StatusError(Exception):
    def __init__(self, status: int, text: str = "no", headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status_code = status
        self.headers = headers or {}


class _CodeError(Exception):
    def __init__(self, code: object) -> None:
        super().__init__("no")
        self.code = code


def _raising(error: Exception) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_StatusError(429), ModelUnavailableError),
        (_StatusError(408), ModelUnavailableError),
        (_StatusError(529), ModelUnavailableError),
        (_StatusError(401), ModelAccessError),
        (_StatusError(404), ModelAccessError),
        (_StatusError(400), ModelAnswerError),
        (_StatusError(422), ModelAnswerError),
        (_StatusError(429, "insufficient_quota: you have used it up"), ModelAccessError),
        (_CodeError(503), ModelUnavailableError),
        (_CodeError("rate"), ModelAnswerError),
        (_CodeError(7), ModelAnswerError),
        (TimeoutError(), ModelUnavailableError),
        (ConnectionResetError("reset"), ModelUnavailableError),
        (KeyError("choices"), ModelAnswerError),
        (TypeError("'NoneType' object is not iterable"), ModelAnswerError),
    ],
    ids=repr,
)
def test_each_client_error_maps_to_one_error_class(error: Exception, kind: type[HLGraphError]) -> None:
    with pytest.raises(kind, match="p:m: ") as caught:
        mapped("p:m", _raising(error))
    assert type(caught.value) is kind
    assert caught.value.retryable == (kind is ModelUnavailableError)


def test_status_is_read_along_the_chain_of_causes() -> None:
    def action() -> None:
        try:
            _raising(_StatusError(503))()
        except _StatusError as error:
            raise ValueError("wrapped") from error

    with pytest.raises(ModelUnavailableError, match="503"):
        mapped("p:m", action)


def test_our_own_errors_pass_unchanged() -> None:
    error = InputError("mine")
    with pytest.raises(InputError) as caught:
        call("p:m", _raising(error))
    assert caught.value is error


def test_interrupts_pass() -> None:
    with pytest.raises(KeyboardInterrupt):
        call("p:m", _raising(KeyboardInterrupt()))  # type: ignore[arg-type]


def test_waits_grow_randomly_and_the_retries_end() -> None:
    waits: list[float] = []
    patience = Patience(calls=5, first_wait=1.0, longest_wait=3.0, sleep=waits.append)
    with pytest.raises(ModelUnavailableError, match="tried 5 times"):
        call("p:m", _raising(_StatusError(500)), patience=patience)
    assert len(waits) == 4
    for seconds, longest in zip(waits, (1, 2, 3, 3), strict=True):
        assert longest / 2 <= seconds <= longest


def test_silent_provider_is_given_up_sooner() -> None:
    waits: list[float] = []
    with pytest.raises(ModelUnavailableError, match="tried 3 times") as caught:
        call("p:m", _raising(ConnectionRefusedError("refused")), patience=Patience(sleep=waits.append))
    assert (caught.value.is_silent, len(waits)) == (True, 2)


def test_rate_limit_of_a_minute_is_waited_for_without_retry_after() -> None:
    waits: list[float] = []
    with pytest.raises(ModelUnavailableError, match="tried 8 times"):
        call("p:m", _raising(_StatusError(429)), patience=Patience(sleep=waits.append))
    assert 45 <= sum(waits) <= 91


def test_the_whole_wait_is_bounded() -> None:
    waits: list[float] = []
    patience = Patience(calls=100, total=10.0, sleep=waits.append)
    error = _StatusError(429, headers={"Retry-After": "4"})
    with pytest.raises(ModelUnavailableError, match="tried 3 times"):
        call("p:m", _raising(error), patience=patience)
    assert waits == [4.0, 4.0]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": email.utils.formatdate(0, usegmt=True)}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        mapped("p:m", _raising(_StatusError(429, headers=headers)))
    assert caught.value.retry_after == (None if seconds is None else pytest.approx(seconds, abs=3))


def test_retry_after_may_be_a_date() -> None:
    date = email.utils.formatdate(time.time() + 50, usegmt=True)
    with pytest.raises(ModelUnavailableError) as caught:
        mapped("p:m", _raising(_StatusError(503, headers={"Retry-After": date})))
    assert caught.value.retry_after == pytest.approx(50, abs=5)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Bearer abc.def-1", "Bearer ***"),
        ("api_key='k-123456'", "api_key ***'"),
        ("the token limit is reached", "the token limit is reached"),
        ("model claude-3-5-sonnet-20241022 is gone", "model claude-3-5-sonnet-20241022 is gone"),
        ("key AKIA0123456789ABCDEF is invalid", "key *** is invalid"),
        ("provided: sk-proj-****************abcd.", "provided: ***."),
    ],
)
def test_likely_keys_are_masked(text: str, shown: str) -> None:
    assert without_secrets(text, known="anthropic:claude-3-5-sonnet-20241022") == shown


def _embedder(*answers: object, **more: int) -> RemoteEmbedder:
    left = list(answers)
    return RemoteEmbedder("p:m", lambda texts, is_question: left.pop(0), batch=2, **more)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    "answer",
    [[], [[1.0, 2.0]], [[], []], [1.0, 2.0], [[1.0], [1.0, 2.0]], [["a", "b"]] * 2, [[float("nan")]] * 2, None],
)
def test_reply_that_is_no_vectors_is_refused(answer: object) -> None:
    with pytest.raises(ModelAnswerError, match="p:m"):
        _embedder(answer).embed(["a", "b"])


def test_vectors_of_another_length_are_refused() -> None:
    with pytest.raises(ModelMismatchError, match="3 dimensions, but 2 were expected"):
        _embedder([[1.0, 0.0]] * 2, [[1.0, 0.0, 0.0]]).embed(["a", "b", "c"])
    with pytest.raises(ModelMismatchError, match="2 dimensions, but 5 were expected"):
        _embedder([[1.0, 0.0]], dimensions=5).embed(["a"])


def test_vectors_are_normalised_and_only_a_blank_text_may_have_a_vector_of_zeros() -> None:
    vectors = _embedder([[0.0, 0.0], [3.0, 4.0]]).embed([" ", "b"])
    np.testing.assert_allclose(vectors, [[1.0, 0.0], [0.6, 0.8]], atol=1e-6)
    with pytest.raises(ModelAnswerError, match=r"p:m: the vector of text 2 of 2 \('b'\) is zero"):
        _embedder([[3.0, 4.0], [0.0, 0.0]]).embed(["a", "b"])


def test_batches_keep_their_order_when_they_are_sent_at_once() -> None:
    def send(texts: list[str], is_question: bool) -> list[list[float]]:
        time.sleep(0.01 if texts[0] == "0" else 0)
        return [[1.0, float(text)] for text in texts]

    embedder = RemoteEmbedder("p:m", send, batch=1, parallel=4)
    found = embedder.embed([str(number) for number in range(9)])
    np.testing.assert_allclose(found[:, 1] / found[:, 0], range(9), rtol=1e-5)


def test_after_a_failure_no_other_batch_is_begun() -> None:
    asked: list[str] = []

    def send(texts: list[str], is_question: bool) -> list[list[float]]:
        asked.extend(texts)
        time.sleep(0.005)
        raise _StatusError(401)

    with pytest.raises(ModelAccessError):
        RemoteEmbedder("p:m", send, batch=1, parallel=4).embed([str(number) for number in range(300)])
    assert len(asked) < 100


def test_scores_that_are_missing_come_last_and_foreign_ones_are_refused() -> None:
    reranker = RemoteReranker("p:m", lambda question, texts: [(1, -3.0)])
    np.testing.assert_allclose(reranker.rerank("q", ["a", "b", "c"]), [-4, -3, -4])
    np.testing.assert_allclose(RemoteReranker("p:m", lambda question, texts: []).rerank("q", ["a"]), [0])
    for answer in ([(7, 1.0)], [(0, float("nan"))], [(-1, 0.5)]):
        with pytest.raises(ModelAnswerError, match="does not hold valid scores"):
            RemoteReranker("p:m", lambda question, texts, given=answer: given).rerank("q", ["a"])


def test_scores_of_several_batches_are_put_together() -> None:
    reranker = RemoteReranker("p:m", lambda question, texts: [(at, float(t)) for at, t in enumerate(texts)], batch=2)
    np.testing.assert_allclose(reranker.rerank("q", ["5", "1", "9"]), [5, 1, 9])
