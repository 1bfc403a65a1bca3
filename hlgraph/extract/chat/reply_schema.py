"""What a reply must look like, and how it is read: strictly, since what is guessed at here is lost later."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from hlgraph.read.content import clean

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_MOST_REASONS = 5
_LONGEST_NAME = 500
_LONGEST_KIND = 40


class ReplyError(Exception):
    """A reply cannot be used; the message tells the model why."""


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
"""Text on one line, clean, not empty."""

Name = Annotated[str, AfterValidator(_name)]
"""The same, and no longer than a name or a phrase can be: a model that repeats itself is not believed."""


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
    """Both replies in one, as a person writes them; without entities, those of the model's own reply count."""

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


def parse(reply: str, form: type[Reply]) -> Reply:
    """The one JSON object of a reply, in this form; a fence around it, thoughts before it and words after it do not count.

    Raises
    ------
    ReplyError : there is none, or it has another form
    """
    text = _THOUGHTS.sub("", reply)
    fenced = _FENCE.search(text)
    text = fenced[1] if fenced else text
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
    """The JSON schema of a form, with the name and the words that providers want of it."""
    return {**form.model_json_schema(), "title": form.__name__, "description": form.__doc__ or form.__name__}


def is_readable(reply: str, form: type[Reply]) -> bool:
    """Whether :func:`parse` takes a reply."""
    try:
        parse(reply, form)
    except ReplyError:
        return False
    return True


def reasons(error: ValidationError) -> list[str]:
    """What is wrong with an object, the first few of it."""
    found = [f"{'.'.join(map(str, item['loc'])) or 'the object'}: {item['msg']}" for item in error.errors()]
    more = len(found) - _MOST_REASONS
    return found[:_MOST_REASONS] + ([f"and {more} more"] if more > 0 else [])
