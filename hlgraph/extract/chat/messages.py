"""The messages of the calls, built from the prompts, and the schemas and the strict parser of the replies.

:func:`parse` reads a reply, :class:`ReplyError` says why it cannot be used, and the ``ask_...`` functions build requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import checksum
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.prompts import Prompt, delimited, read_prompt
from hlgraph.models.protocols import Completion
from hlgraph.read.content import clean
from hlgraph.records import Domain

# The parser is strict: a lenient one would let wrong data into the graph. `_salvage` reads item by item what it refuses. The
# docstrings of the ``Found`` classes are part of the JSON schemas that providers get, so to change one is to change a prompt. The
# messages of ReplyError are part of repair requests.


_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_MOST_REASONS = 5
_LONGEST_NAME = 500
_LONGEST_KIND = 40


class ReplyError(Exception):
    """A reply cannot be used; a repair request gives the message to the model."""


def _words(text: str) -> str:
    folded = " ".join(clean(text).split())
    if not folded:
        raise ValueError("must not be empty")
    return folded


def _name(text: str) -> str:
    folded = _words(text)
    if len(folded) > _LONGEST_NAME:
        raise ValueError(f"must be a name or a phrase of at most {_LONGEST_NAME} characters")
    return folded


def _kind(text: str) -> str:
    return " ".join(clean(text).split()).lower()[:_LONGEST_KIND]


Words = Annotated[str, AfterValidator(_words)]
"""Clean text on one line, not empty."""

Name = Annotated[str, AfterValidator(_name)]
"""Clean text of at most 500 characters, since a model that repeats itself writes longer ones."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FoundEntity(_Part):
    """A name and what it is a name of."""

    name: Name
    kind: Annotated[str, AfterValidator(_kind)] = ""


class FoundEntities(_Part):
    """The reply to the first call."""

    entities: list[FoundEntity]


class FoundFact(_Part):
    """Subject, predicate, object."""

    subject: Name
    predicate: Name
    object: Words


class FoundProposition(_Part):
    """One proposition with what hangs on it."""

    text: Words
    topics: list[Name] = []
    entities: list[Name] = []
    facts: list[FoundFact] = []


class FoundPropositions(_Part):
    """The reply to the second call."""

    propositions: list[FoundProposition]


class MendedReply(_Part):
    """Both replies in one, as a person writes them; without ``entities``, those of the model's own reply are used."""

    entities: list[FoundEntity] | None = None
    propositions: list[FoundProposition]


class FoundVerdict(_Part):
    """Whether the statement of this number says what its text says."""

    number: int
    is_accurate: bool
    reason: str = ""


class FoundVerdicts(_Part):
    """The reply about some statements of one text."""

    verdicts: list[FoundVerdict]


Reply = TypeVar("Reply", bound=BaseModel)
Read = TypeVar("Read")


def without_frame(reply: str) -> str:
    """A reply without the model's thoughts; only what is in the first code fence, if there is one."""
    text = _THOUGHTS.sub("", reply)
    fenced = _FENCE.search(text)
    return fenced[1] if fenced else text


def parse(reply: str, form: type[Reply]) -> Reply:
    """The JSON object of a reply, parsed; ignores a code fence around it, thoughts before it and text after it.

    Parameters
    ----------
    reply : the reply
    form : the expected schema

    Returns
    -------
    BaseModel
        The object, an instance of ``form``.

    Raises
    ------
    ReplyError
        There is no JSON object, or it does not match ``form``.
    """
    text = without_frame(reply)
    start = text.find("{")
    if start < 0:
        raise ReplyError("the reply holds no JSON object")
    try:
        tree, _ = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise ReplyError(f"the JSON breaks at character {error.pos - start}: {error.msg}") from error
    except RecursionError as error:
        raise ReplyError("the JSON is nested too deeply") from error
    try:
        return form.model_validate(tree)
    except ValidationError as error:
        raise ReplyError("; ".join(reasons(error))) from error


@cache
def schema(form: type[Reply]) -> dict[str, object]:
    """The JSON schema of a form, with the title and the description that providers require."""
    return {**form.model_json_schema(), "title": form.__name__, "description": form.__doc__ or form.__name__}


def is_readable(reply: str, form: type[Reply]) -> bool:
    """Whether :func:`parse` accepts a reply.

    Parameters
    ----------
    reply : the reply
    form : the expected schema

    Returns
    -------
    bool
        False if it raises ReplyError.
    """
    return accepts(lambda text: parse(text, form), reply)


def accepts(read: Callable[[str], object], reply: str) -> bool:
    """Whether a reply can be read.

    Parameters
    ----------
    read : raises ReplyError if it cannot
    reply : the reply
    """
    try:
        read(reply)
    except ReplyError:
        return False
    return True


def reasons(error: ValidationError) -> list[str]:
    """Descriptions of the first five errors in an object, and the number of others."""
    described = [f"{'.'.join(map(str, detail['loc'])) or 'the object'}: {detail['msg']}" for detail in error.errors()]
    more = len(described) - _MOST_REASONS
    return described[:_MOST_REASONS] + ([f"and {more} more"] if more > 0 else [])


_FOLDER = Path(__file__).parents[1] / "prompts"
_PART_OF = {"entities": "kinds", "propositions": "topics"}
_SHORT = 8
_MOST_CHARACTERS = 4_000
"""Maximum length of a sample, since a document that is one chunk may be of any length."""


class Messages(NamedTuple):
    """The two messages of a call."""

    system: str
    user: str


def prompt(name: str) -> Prompt:
    """The prompt with this name."""
    return read_prompt(_FOLDER / f"{name}.md")


def versions(domain: Domain | None = None) -> str:
    """Versions of all extraction prompts; with a domain, also of the prompts that name it, and a hash of its kinds and topics."""
    parts = [prompt(name).version for name in ("entities", "propositions", "repair")]
    if domain is not None:
        parts += [prompt(part).version for part in _PART_OF.values() if getattr(domain, part)]
        parts.append(checksum(json.dumps([domain.kinds, domain.topics]))[:_SHORT])
    return "+".join(parts)


def version(name: str, domain: Domain | None = None) -> str:
    """Version of the prompt of a call, such as ``entities/1``, or ``entities/1+kinds/1`` with a domain.

    Parameters
    ----------
    name : name of the prompt
    domain : domain of the corpus; default None

    Returns
    -------
    str
        The version.
    """
    own = prompt(name).version
    return f"{own}+{prompt(_PART_OF[name]).version}" if _named(name, domain) else own


def _named(name: str, domain: Domain | None) -> tuple[str, ...]:
    """The kinds or topics of the domain that the prompt of a call names."""
    part = _PART_OF.get(name)
    names: tuple[str, ...] = () if domain is None or part is None else getattr(domain, part)
    return names


def _in_domain(messages: Messages, name: str, *, domain: Domain | None) -> Messages:
    """The messages with the kinds or topics of the domain added; unchanged without a domain."""
    names = _named(name, domain)
    if not names:
        return messages
    part = _PART_OF[name]
    more = prompt(part)
    listed = delimited(part, json.dumps(list(names), ensure_ascii=False))
    return Messages(f"{messages.system}\n\n{more.system}", f"{more.filled({part: listed})}\n\n{messages.user}")


def ask_domain(samples: Sequence[ChunkInput]) -> Messages:
    """The messages that request the domain of a corpus, from sample chunks."""
    chosen = prompt("domain")
    shown = (
        f"[{number}]\n{context(sample)}\n{delimited('text', sample.text[:_MOST_CHARACTERS])}"
        for number, sample in enumerate(samples, 1)
    )
    return Messages(chosen.system, chosen.filled({"samples": "\n\n".join(shown)}))


def ask_entities(chunk: ChunkInput, domain: Domain | None = None) -> Messages:
    """The messages of the first call, for entities.

    Parameters
    ----------
    chunk : the chunk
    domain : domain of the corpus; default None

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("entities")
    user = chosen.filled({"context": context(chunk), "text": delimited("text", chunk.text)})
    return _in_domain(Messages(chosen.system, user), "entities", domain=domain)


def ask_propositions(chunk: ChunkInput, entities: Sequence[FoundEntity], *, domain: Domain | None = None) -> Messages:
    """The messages of the second call, for propositions about the entities of the first.

    Parameters
    ----------
    chunk : the chunk
    entities : the entities in the first reply
    domain : domain of the corpus; default None

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("propositions")
    names = json.dumps([entity.name for entity in entities], ensure_ascii=False)
    values = {
        "context": context(chunk),
        "entities": delimited("entities", names),
        "text": delimited("text", chunk.text),
    }
    return _in_domain(Messages(chosen.system, chosen.filled(values)), "propositions", domain=domain)


def ask_again(asked: Messages, reply: str, *, reason: str) -> Messages:
    """The messages of the repair call, which requests a reply in the right form.

    Parameters
    ----------
    asked : messages of the first call
    reply : its reply
    reason : why the reply cannot be used

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("repair")
    values = {"request": asked.user, "reply": delimited("reply", reply), "reason": reason}
    return Messages(f"{asked.system}\n\n{chosen.system}", chosen.filled(values))


def context(chunk: ChunkInput) -> str:
    """Title and headings of a chunk and the lines that it begins below, as delimited text for a prompt."""
    lines = [f"Title: {chunk.title}"] if chunk.title else []
    lines.extend(f"Heading: {heading}" for heading in chunk.headings)
    lines.extend(f"Above: {line.strip()}" for line in chunk.above.splitlines() if line.strip())
    return delimited("context", "\n".join(lines) or "No title.")


def ask_and_repair(
    about: Callable[[str], Asking],
    messages: Messages,
    *,
    version: str,
    max_tokens: int,
    read: Callable[[Completion], Read],
    on_reply: Callable[[Completion], None] = lambda _: None,
) -> Read:
    """The result of ``read`` on the reply to a request, or on the reply to a repair request if it cannot be read.

    A repaired reply is stored as the reply to the first request, so that a repetition pays for neither of the two calls.

    Parameters
    ----------
    about : maps the version of a prompt to the chat model to call
    messages : the request
    version : version of its prompt
    max_tokens : maximum length of a reply, in tokens
    read : converts a reply; raises ReplyError if it cannot be used
    on_reply : called with each reply before it is read; its errors are raised at once; default: no call

    Returns
    -------
    object
        The result of ``read``.

    Raises
    ------
    ReplyError
        The second reply cannot be used either.
    """
    first = about(version).complete(*messages, max_tokens=max_tokens)
    on_reply(first)
    try:
        return read(first)
    except ReplyError as error:
        again = ask_again(messages, first.text, reason=str(error))
    second = about(prompt("repair").version).complete(*again, max_tokens=max_tokens)
    on_reply(second)
    result = read(second)
    about(version).settle(*messages, max_tokens=max_tokens, completion=second)
    return result


MAX_TOKENS = 2_048
"""Default limit of a reply, with room for models that reason before they answer."""


def ask_twice(
    executor: Executor,
    messages: Messages,
    *,
    form: type[Reply],
    purpose: Purpose,
    max_tokens: int = MAX_TOKENS,
    check: Callable[[Reply], None] = lambda _: None,
) -> Reply:
    """The parsed reply, or the parsed reply to a repair request; see :func:`ask_and_repair`.

    Parameters
    ----------
    executor : of the chat model, with its ledger, stored replies and budget
    messages : the request
    form : schema of the reply
    purpose : stage, strategy and version of the prompt
    max_tokens : maximum length of a reply, in tokens
    check : raises ReplyError for a reply of the right form that cannot be used; default: every one can

    Raises
    ------
    ReplyError
        The second reply cannot be read either.
    ModelError
        The model cannot be called, or refuses.
    """

    def read(text: str) -> Reply:
        reply = parse(text, form)
        check(reply)
        return reply

    def about(version: str) -> Asking:
        asked = replace(purpose, prompt=version)
        return executor.about(asked, accept=lambda text: accepts(read, text), form=schema(form))

    return ask_and_repair(
        about, messages, version=purpose.prompt, max_tokens=max_tokens, read=lambda completion: read(completion.text)
    )
