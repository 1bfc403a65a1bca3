"""Every provider by its real client against a local server: the answer, and every way in which a call goes wrong."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator

import pytest
from provider_wires import KEY, KEYS, WIRES, Waits, Wire
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from hlgraph.errors import HLGraphError, ModelAccessError, ModelAnswerError, ModelUnavailableError, UnknownNameError
from hlgraph.models.choose import Connection, chat_named, embedder_named, reranker_named

pytestmark = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, aws_models: None) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    for name in ("CO_API_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "AWS_PROFILE", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(httpserver: HTTPServer) -> Iterator[HTTPServer]:
    yield httpserver
    httpserver.check_handler_errors()


def _always(server: HTTPServer, wire: Wire, status: int, body: object) -> None:
    server.expect_request(wire.path).respond_with_json(body, status=status)


def test_an_answer(server: HTTPServer, wire: Wire) -> None:
    server.expect_request(wire.path).respond_with_handler(wire.good)
    waits = Waits()
    wire.ask(wire.connection(server, waits))
    assert waits.seconds == []


def test_a_busy_provider_is_asked_again_when_it_says(server: HTTPServer, wire: Wire) -> None:
    busy = Response(
        '{"message": "slow down"}', status=429, headers={"Retry-After": "7"}, content_type="application/json"
    )
    server.expect_ordered_request(wire.path).respond_with_response(busy)
    for _ in range(6):
        server.expect_ordered_request(wire.path).respond_with_handler(wire.good)
    waits = Waits()
    wire.ask(wire.connection(server, waits))
    # The client of Ollama does not show the headers of an error.
    assert waits.seconds == [7.0] if not wire.name.startswith("ollama") else len(waits.seconds) == 1


@pytest.mark.parametrize("status", [500, 503])
def test_a_broken_provider_is_given_up_after_some_tries(server: HTTPServer, wire: Wire, status: int) -> None:
    _always(server, wire, status, {"message": "it broke"})
    waits = Waits()
    with pytest.raises(ModelUnavailableError, match=f"{wire.name}: .*{status}.*tried 3 times") as caught:
        wire.ask(wire.connection(server, waits))
    assert caught.value.retryable
    # Titan is asked for three texts, one call each.
    assert len(waits.seconds) in (2, 4, 6)
    assert all(0 < seconds <= 30 for seconds in waits.seconds)


def test_a_provider_that_asks_to_wait_too_long_is_given_up_at_once(server: HTTPServer, wire: Wire) -> None:
    busy = Response("{}", status=429, headers={"Retry-After": "86400"}, content_type="application/json")
    server.expect_request(wire.path).respond_with_response(busy)
    waits = Waits()
    with pytest.raises(ModelUnavailableError) as caught:
        wire.ask(wire.connection(server, waits))
    if not wire.name.startswith("ollama"):
        assert (caught.value.retry_after, waits.seconds) == (86400.0, [])


def test_silence_is_a_time_out(server: HTTPServer, wire: Wire) -> None:
    def late(request: Request) -> Response:
        time.sleep(0.6)
        return Response("{}")

    server.expect_request(wire.path).respond_with_handler(late)
    with pytest.raises(ModelUnavailableError, match="no answer from the provider"):
        wire.ask(wire.connection(server, Waits(), timeout=0.2, calls=2))


def test_nobody_there(server: HTTPServer, wire: Wire) -> None:
    connection = Connection(
        url="http://127.0.0.1:9", region="eu-west-1", patience=wire.connection(server, Waits()).patience
    )
    with pytest.raises(ModelUnavailableError, match="no answer from the provider"):
        wire.ask(connection)


def test_a_body_that_breaks_off(server: HTTPServer, wire: Wire) -> None:
    def cut(request: Request) -> Response:
        whole = wire.good(request)
        part = Response(whole.get_data()[:20], content_type="application/json")
        part.headers["Content-Length"] = str(len(whole.get_data()))
        part.automatically_set_content_length = False
        return part

    server.expect_request(wire.path).respond_with_handler(cut)
    with pytest.raises((ModelUnavailableError, ModelAnswerError)):
        wire.ask(wire.connection(server, Waits(), calls=2))


@pytest.mark.parametrize("body", [{"unexpected": True}, [], "text"], ids=repr)
def test_an_answer_of_another_form(server: HTTPServer, wire: Wire, body: object) -> None:
    _always(server, wire, 200, body)
    with pytest.raises(ModelAnswerError) as caught:
        wire.ask(wire.connection(server, Waits()))
    assert wire.name in str(caught.value)


def test_an_answer_that_is_no_json(server: HTTPServer, wire: Wire) -> None:
    server.expect_request(wire.path).respond_with_data("<html>hello</html>", content_type="text/html")
    with pytest.raises(ModelAnswerError):
        wire.ask(wire.connection(server, Waits()))


@pytest.mark.parametrize(
    ("status", "kind"), [(401, ModelAccessError), (403, ModelAccessError), (404, ModelAccessError)]
)
def test_a_closed_door_is_said_at_once_and_without_the_key(
    server: HTTPServer, wire: Wire, status: int, kind: type[HLGraphError]
) -> None:
    said = f"Incorrect API key provided: {KEY}; Authorization: Bearer {KEY}"
    body = {"message": said, "error": {"message": said, "type": "authentication_error"}}
    _always(server, wire, status, body)
    waits = Waits()
    with pytest.raises(kind, match="check the key") as caught:
        wire.ask(wire.connection(server, waits))
    assert not caught.value.retryable
    assert waits.seconds == []
    shown = "".join(traceback.format_exception(caught.value))
    assert str(status) in str(caught.value)
    assert KEY not in shown
    assert KEY[:-3] not in shown


def test_a_request_that_is_refused_is_not_tried_again(server: HTTPServer, wire: Wire) -> None:
    _always(server, wire, 400, {"message": "too long", "error": {"message": "too long", "type": "x"}})
    waits = Waits()
    with pytest.raises(ModelAnswerError, match="refused the request with 400"):
        wire.ask(wire.connection(server, waits))
    assert waits.seconds == []


def test_a_missing_key_is_said_when_the_model_is_made(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    if wire.name.startswith(("anthropic", "ollama")):
        return  # the one sends an empty key, which the server refuses; the other has none
    with pytest.raises(ModelAccessError, match="check the key or credentials"):
        wire.ask(Connection(url="http://127.0.0.1:9"))


def test_names_that_are_none(wire: Wire) -> None:
    provider = wire.name.partition(":")[0]
    for make in (chat_named, embedder_named, reranker_named):
        for name in ("", provider, f"{provider}:", "nobody:model"):
            with pytest.raises(UnknownNameError, match="write provider:model with one of the providers"):
                make(name, Connection())
