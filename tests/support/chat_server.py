"""A local server that speaks OpenAI's interface, extracts by rules, says realistic usage, and fails where it is told."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.records import Extraction, Proposition
from hlgraph.testing.chat import without_salt

MODEL = "openai:m"
DOMAIN_REPLY = json.dumps({"kinds": ["Bridge", "engineer"], "topics": ["building of bridges", "life in Wendle"]})
_PIECE = re.compile(r" ?[A-Za-z]+| ?\d{1,3}| ?[^\sA-Za-z\d]+|\s+")


def usage_tokens(text: str) -> int:
    """Tokens as a byte-pair encoding counts them, roughly: pieces with the space before them, long ones in several."""
    return sum(1 + (len(piece) - 1) // 9 for piece in _PIECE.findall(text))


@dataclass(frozen=True)
class Asked:
    """One request: the messages, and whether it was for entities."""

    system: str
    user: str

    @property
    def is_for_entities(self) -> bool:
        return self.system.startswith("You list the entities")

    @property
    def is_for_domain(self) -> bool:
        return self.system.startswith("You look at a few samples")

    @property
    def text(self) -> str:
        return re.findall(r"<text (\w+)>\n(.*?)\n</text \1>", self.user, flags=re.DOTALL)[-1][1]


def _tree(proposition: Proposition, listed: set[str]) -> dict[str, object]:
    facts = [
        {"subject": item.subject, "predicate": item.predicate, "object": item.object}
        for item in proposition.triples
        if item.subject in listed
    ]
    names, topics = [item.name for item in proposition.mentions], list(proposition.topics[:2])
    return {"text": proposition.text, "topics": topics, "entities": names, "facts": facts}


@cache
def _extracted(text: str) -> Extraction:
    """What the rules extract from a text, once for all calls about it."""
    return LocalExtractor().extract([ChunkInput(text)])[0]


def good_reply(asked: Asked) -> str:
    """What a good model says: what the rules find in the text."""
    if asked.system.startswith("You answer a question"):
        return "So it is said [1]."
    if asked.is_for_domain:
        return DOMAIN_REPLY
    found = _extracted(asked.text)
    if asked.is_for_entities:
        names = {mention.name: mention.kind for item in found.propositions for mention in item.mentions}
        return json.dumps({"entities": [{"name": name, "kind": kind or "thing"} for name, kind in names.items()]})
    listed = set(json.loads(re.findall(r"<entities (\w+)>\n(.*?)\n</entities \1>", asked.user)[0][1]))
    return json.dumps({"propositions": [_tree(item, listed) for item in found.propositions]})


Fault = Callable[[int, Asked], "Response | str | None"]
"""By the number of the call, from 1, and what is asked: a whole response, another text for the reply, or None."""


class ChatServer:
    """The server; ``paid`` are the requests that it sent a bill for, ``tokens`` what the bills say."""

    def __init__(self, server: HTTPServer, *, fault: Fault = lambda number, asked: None, seconds: float = 0.0) -> None:
        self.url = server.url_for("/v1")
        self.fault = fault
        self.seconds = seconds
        self.calls = 0
        self.tokens = 0
        self.paid: list[Asked] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        server.expect_request("/v1/chat/completions").respond_with_handler(self._serve)

    def _serve(self, request: Request) -> Response:
        tree = json.loads(request.get_data())
        asked = Asked(*(message["content"] for message in tree["messages"]))
        with self._lock:
            self.calls += 1
            number = self.calls
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            time.sleep(self.seconds)
            found = self.fault(number, asked)
            if isinstance(found, Response):
                return found
            return self._billed(
                asked, good_reply(asked) if found is None else found, is_streamed=bool(tree.get("stream"))
            )
        finally:
            with self._lock:
                self.at_once -= 1

    def _billed(self, asked: Asked, text: str, *, is_streamed: bool) -> Response:
        sent = usage_tokens(without_salt(asked.system)) + usage_tokens(without_salt(asked.user)) + 7  # a salt is random
        replied = usage_tokens(text)
        with self._lock:
            self.paid.append(asked)
            self.tokens += sent + replied
        if is_streamed:
            return streamed(re.findall(r"\s*\S+", text))
        return _completion(text, sent, replied)


def _completion(text: str, sent: int, replied: int, *, reason: str = "stop") -> Response:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": sent, "completion_tokens": replied, "total_tokens": sent + replied}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Response(json.dumps(body), content_type="application/json")


def busy(seconds: str | None = None, status: int = 429) -> Response:
    """The provider asks to wait."""
    headers = {} if seconds is None else {"Retry-After": seconds}
    body = json.dumps({"error": {"message": "slow down", "type": "requests"}})
    return Response(body, status=status, headers=headers, content_type="application/json")


def cut_off(text: str) -> Response:
    """A reply that ended at the limit of its length."""
    return _completion(text, 10, 10, reason="length")


def streamed(
    pieces: Iterable[str], *, is_whole: bool = True, has_usage: bool = True, is_broken: bool = False
) -> Response:
    """A reply in pieces, as server-sent events.

    ``is_whole``: the reason for its end and the last event stand at the end; ``is_broken``: the connection ends before it should.
    """

    def events() -> Iterator[str]:
        def event(choices: list[object], usage: object = None) -> str:
            tree = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
            return f"data: {json.dumps({**tree, **({'usage': usage} if usage else {})})}\n\n"

        for piece in pieces:
            yield event([{"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None}])
        if is_broken:
            raise ConnectionResetError("the server went away")
        if is_whole:
            yield event([{"index": 0, "delta": {}, "finish_reason": "stop"}])
            if has_usage:
                yield event([], {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25})
            yield "data: [DONE]\n\n"

    return Response(events(), content_type="text/event-stream")
