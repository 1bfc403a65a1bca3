"""The interface of OpenAI: ``/v1/chat/completions`` and ``/v1/models``, so that its clients ask a corpus unchanged.

A model is a corpus, or a corpus with a strategy behind a slash. The question is the last message of the user; the messages before
it say whom or what a pronoun means. Citations are annotations of the message, and a plain list. Calls by which Open WebUI makes
titles, tags and suggestions are answered without a search.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct

from hlgraph.errors import InputError, UnknownNameError, needs_extra
from hlgraph.serve import shapes
from hlgraph.serve.access import Principal
from hlgraph.serve.routes import (
    EVENTS,
    JSON,
    Route,
    Server,
    add,
    admitted,
    answered,
    begun,
    body_of,
    events_of,
    who_asks,
)
from hlgraph.serve.service import Event, Service
from hlgraph.serve.shapes import encoded, problem_of

with needs_extra("server", "hlgraph serve"):
    from fastapi import FastAPI, Request, Response
    from sse_starlette import EventSourceResponse, ServerSentEvent

if TYPE_CHECKING:
    from hlgraph.serve.shapes import Answered

_TASK: Final = re.compile(r"\s*###\s*Task:\s*\n", re.IGNORECASE)
_FIELD: Final = re.compile(r'"(title|tags|follow_ups|queries|text)"\s*:')  # of the JSON that a task asks for
_TITLE_WORDS: Final = 6
_TOKEN_CHARACTERS: Final = 4


class Message(Struct, frozen=True, kw_only=True):
    """A message of a conversation; other fields are ignored."""

    role: Annotated[str, Meta(max_length=50, examples=["user"])]
    content: str | list[dict[str, Any]] | None = None


class ChatAsked(Struct, frozen=True, kw_only=True):
    """A request for a completion; the fields of OpenAI that are not here have no effect.

    Attributes
    ----------
    model : a corpus, or ``CORPUS/STRATEGY``
    messages : the conversation; the last message of the user is the question, and earlier ones say who "he" is
    stream : whether the answer comes as server-sent events
    stream_options : ``include_usage`` adds an event with the usage
    n, response_format, tool_choice : one answer, as text and without a call of a tool, is all that can be asked for
    """

    model: Annotated[str, Meta(min_length=1, max_length=400, examples=["default", "default/path"])]
    messages: Annotated[list[Message], Meta(min_length=1, max_length=1_000)]
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    tool_choice: str | dict[str, Any] | None = None


class Model(Struct, frozen=True, kw_only=True):
    """A corpus, or a corpus with a strategy, as a model."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str = "hlgraph"


class Models(Struct, frozen=True, kw_only=True):
    """The models that the caller may ask."""

    object: str
    data: tuple[Model, ...]


class Usage(Struct, frozen=True, kw_only=True):
    """Estimated tokens of the conversation and the answer."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Reply(Struct, frozen=True, kw_only=True):
    """The message of a completion: its text, and each citation with its place in the text."""

    role: str
    content: str
    annotations: tuple[dict[str, Any], ...] = ()
    refusal: str | None = None


class Choice(Struct, frozen=True, kw_only=True):
    """The only choice."""

    index: int
    message: Reply
    finish_reason: str
    logprobs: None = None


class Completion(Struct, frozen=True, kw_only=True):
    """A completion; ``citations`` are the uris of the sources by number, ``hlgraph`` is the whole answer."""

    id: str
    object: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    citations: tuple[str, ...] = ()
    hlgraph: shapes.Answered | None = None


ROUTES: Final = (
    Route(
        method="POST",
        path="/chat/completions",
        about="Answer the last message of a conversation, as OpenAI does.",
        gives=Completion,
        takes=ChatAsked,
        tag="openai",
        content=(JSON, EVENTS),
    ),
    Route(
        method="GET",
        path="/models",
        about="Corpora, and their strategies, as models.",
        gives=Models,
        tag="openai",
    ),
    Route(method="GET", path="/models/{model:path}", about="A model.", gives=Model, tag="openai"),
)


EXAMPLES: Final[Mapping[str, Struct]] = {
    "ChatAsked": ChatAsked(model="default", messages=[Message(role="user", content="Who designed the bridge?")]),
    "Completion": Completion(
        id="chatcmpl-1f0c2a",
        object="chat.completion",
        created=1_790_000_000,
        model="default",
        choices=(
            Choice(
                index=0,
                message=Reply(role="assistant", content="Mara Quill designed the Aldane Bridge. [1]"),
                finish_reason="stop",
            ),
        ),
        usage=Usage(prompt_tokens=6, completion_tokens=11, total_tokens=17),
        citations=("notes/bridge",),
    ),
    "Models": Models(object="list", data=(Model(id="default"), Model(id="default/path"))),
    "Model": Model(id="default"),
}


def add_routes(app: FastAPI, server: Server) -> None:
    """Add the routes to an application.

    Parameters
    ----------
    app : the application
    server : what the routes work with
    """
    endpoints = (_completions(server), _models(server), _model(server))
    for route, endpoint in zip(ROUTES, endpoints, strict=True):
        add(app, route, endpoint=endpoint)


# Models.


def models_of(service: Service, who: Principal) -> list[Model]:
    """The models that a caller may ask: each corpus, then each corpus with each strategy.

    Parameters
    ----------
    service : the service layer
    who : the caller
    """
    from hlgraph.retrieve import STRATEGIES

    names = [corpus.name for corpus in service.corpora(who).corpora]
    return [*map(_named, names), *(_named(f"{name}/{strategy}") for name in names for strategy in STRATEGIES)]


def _named(name: str) -> Model:
    return Model(id=name)


def asked_of(request: ChatAsked) -> tuple[str, shapes.AnswerAsked]:
    """The corpus and the question of a conversation; see :func:`hlgraph.answer.in_conversation`.

    Parameters
    ----------
    request : the conversation

    Raises
    ------
    InputError
        No message of the user has a text, or another form of reply is asked for than one answer as text.
    """
    from hlgraph.answer import in_conversation
    from hlgraph.retrieve import STRATEGIES

    if request.n not in (None, 1):
        raise InputError(f"n is {request.n}, and a question has one answer; leave n out, or ask again")
    if (request.response_format or {}).get("type", "text") != "text":
        raise InputError("response_format is not text, and answers are text; leave it out, and read the field hlgraph")
    if request.tool_choice not in (None, "none", "auto"):
        raise InputError("tool_choice demands a call of a tool, and answers call none; leave it out")

    corpus, slash, strategy = request.model.rpartition("/")
    if not slash or strategy not in STRATEGIES:
        corpus, strategy = request.model, "auto"
    said = [(message.role, text_of(message)) for message in request.messages]
    while said and not (said[-1][0] == "user" and said[-1][1].strip()):
        said.pop()
    if not said:
        raise InputError("the conversation has no message of the user with a text; ask something")
    return corpus, shapes.AnswerAsked(question=in_conversation(said[-1][1], said[:-1]), strategy=strategy)


def text_of(message: Message) -> str:
    """The text of a message; pictures and other parts are left out.

    Examples
    --------
    >>> text_of(Message(role="user", content=[{"type": "text", "text": "Who?"}, {"type": "image_url"}]))
    'Who?'
    """
    if not isinstance(message.content, list):
        return message.content or ""
    parts = (part.get("text") for part in message.content if part.get("type") in ("text", "input_text"))
    return "\n".join(part for part in parts if isinstance(part, str))


def task_reply(text: str) -> str | None:
    """The reply to a task of Open WebUI (title, tags, follow-up questions, queries, completion); None: the text is a question.

    Examples
    --------
    >>> task_reply('### Task:\\nGenerate a title.\\n### Output:\\nJSON format: { "title": "..." }\\nUSER: Who built it?')
    '{"title": "Who built it?"}'
    >>> task_reply("Who built it?") is None
    True
    """
    if not _TASK.match(text):
        return None
    field = _FIELD.search(text)  # the first: the messages of the chat stand below
    name = field[1] if field else "title"
    if name == "text":
        return json.dumps({"text": ""})
    if name != "title":
        return json.dumps({name: []})
    asked = re.search(r"^\s*(?:USER|user):\s*(.+)$", text, flags=re.MULTILINE)
    words = (asked[1] if asked else "Question").split()
    more = "…" if len(words) > _TITLE_WORDS else ""
    return json.dumps({"title": " ".join(words[:_TITLE_WORDS]) + more}, ensure_ascii=False)


# Their answers.


def annotations_of(answer: Answered) -> tuple[dict[str, Any], ...]:
    """Each mark ``[n]`` in the text of an answer, with the source that it cites."""
    cited = {piece.number: piece for piece in answer.citations}
    marks = ((mark, cited.get(int(mark[1]))) for mark in re.finditer(r"\[(\d{1,6})\]", answer.answer))
    return tuple(
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": mark.start(),
                "end_index": mark.end(),
                "title": piece.source.title or piece.source.uri,
                "url": piece.source.uri,
            },
        }
        for mark, piece in marks
        if piece is not None
    )


def usage_of(request: ChatAsked, text: str) -> Usage:
    """Estimated tokens.

    Parameters
    ----------
    request : the conversation
    text : the answer
    """
    sent = -(-sum(len(text_of(message)) for message in request.messages) // _TOKEN_CHARACTERS)
    given = -(-len(text) // _TOKEN_CHARACTERS)
    return Usage(prompt_tokens=sent, completion_tokens=given, total_tokens=sent + given)


def completion_of(request: ChatAsked, text: str, *, answer: Answered | None = None) -> Completion:
    """The completion with a text.

    Parameters
    ----------
    request : the conversation
    text : the text
    answer : the answer that it is; None: the text answers a task
    """
    annotations = () if answer is None else annotations_of(answer)
    reason = "length" if answer is not None and answer.is_truncated else "stop"
    return Completion(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        object="chat.completion",
        created=int(time.time()),
        model=request.model,
        choices=(
            Choice(
                index=0,
                message=Reply(role="assistant", content=text, annotations=annotations),
                finish_reason=reason,
            ),
        ),
        usage=usage_of(request, text),
        citations=() if answer is None else citations_of(answer),
        hlgraph=answer,
    )


def citations_of(answer: Answered) -> tuple[str, ...]:
    """The uris of the cited sources: that of citation [1] first."""
    return tuple(piece.source.uri for piece in sorted(answer.citations, key=lambda piece: piece.number))


def _completions(server: Server) -> Callable[[Request], Any]:
    async def completions(request: Request) -> Response:
        who = await who_asks(server, request)
        asked = await body_of(request, ChatAsked)
        corpus, question = asked_of(asked)
        reply = task_reply(question.question)
        if reply is not None:
            whole = completion_of(asked, reply)
            return EventSourceResponse(_task_chunks(asked, reply)) if asked.stream else answered(whole)
        service = server.service
        if asked.stream:
            first, rest = await begun(events_of(server, lambda: service.answer_events(who, corpus, asked=question)))
            events = admitted(rest, server=server, request=request)
            return EventSourceResponse(_chunks(asked, first, events, operates=who.has("operate")))

        def work() -> Response:
            answer = service.answer(who, corpus, asked=question)
            return answered(completion_of(asked, answer.answer, answer=answer))

        return await server.run(work, seconds=5 * service.settings.max_seconds)

    return completions


async def _task_chunks(asked: ChatAsked, reply: str) -> AsyncIterator[ServerSentEvent]:
    make = _Chunks(asked)
    for delta in ({"role": "assistant", "content": reply}, {}):
        yield make.chunk(delta, reason=None if delta else "stop")
    for event in make.end(reply):
        yield event


async def _chunks(
    asked: ChatAsked, first: Event, rest: AsyncIterator[Event | Exception], *, operates: bool
) -> AsyncIterator[ServerSentEvent]:
    """The events of an answer as chunks of a completion."""
    make, text = _Chunks(asked), ""
    yield make.chunk({"role": "assistant", "content": ""}, plan=first.data)
    async for event in rest:
        if isinstance(event, Exception):
            problem = problem_of(event, operates=operates)
            yield ServerSentEvent(encoded({"error": shapes.error_of(problem)}).decode())
            return
        if event.name == "text":
            piece: Any = event.data
            text += piece["text"]
            yield make.chunk({"content": piece["text"]})
        elif event.name == "done":
            answer: Any = event.data
            delta = {"annotations": annotations_of(answer)}
            reason = "length" if answer.is_truncated else "stop"
            yield make.chunk(delta, reason=reason, citations=citations_of(answer), hlgraph=answer)
    for end in make.end(text):
        yield end


class _Chunks:
    """The chunks of one completion."""

    def __init__(self, asked: ChatAsked) -> None:
        self._asked = asked
        self._common = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": asked.model,
        }

    def chunk(self, delta: Mapping[str, Any], *, reason: str | None = None, **more: object) -> ServerSentEvent:
        """A chunk with a part of the message."""
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return ServerSentEvent(encoded({**self._common, "choices": [choice], **more}).decode())

    def end(self, text: str) -> Iterator[ServerSentEvent]:
        """The usage, if it is asked for, and the mark of the end."""
        if (self._asked.stream_options or {}).get("include_usage"):
            yield ServerSentEvent(
                encoded({**self._common, "choices": [], "usage": usage_of(self._asked, text)}).decode()
            )
        yield ServerSentEvent("[DONE]")


def _models(server: Server) -> Callable[[Request], Any]:
    async def models(request: Request) -> Response:
        who = await who_asks(server, request)
        listed = await server.run(partial(models_of, server.service, who))
        return answered(Models(object="list", data=tuple(listed)))

    return models


def _model(server: Server) -> Callable[[Request], Any]:
    async def model(request: Request) -> Response:
        who = await who_asks(server, request)
        name = request.path_params["model"]
        listed = await server.run(partial(models_of, server.service, who))
        for each in listed:
            if each.id == name:
                return answered(each)
        raise UnknownNameError(f"there is no model {name!r:.200}; GET /v1/models lists them")

    return model
