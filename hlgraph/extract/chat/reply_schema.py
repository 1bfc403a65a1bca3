"""The schemas of replies and their strict parser; a lenient one would let wrong data into the graph.

The docstrings of the ``Found`` classes are part of the JSON schemas that providers get: to change one is to change a prompt.
The messages of ReplyError are part of repair requests.
"""

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
    try:
        parse(reply, form)
    except ReplyError:
        return False
    return True


def reasons(error: ValidationError) -> list[str]:
    """Descriptions of the first five errors in an object, and the number of others."""
    found = [f"{'.'.join(map(str, item['loc'])) or 'the object'}: {item['msg']}" for item in error.errors()]
    more = len(found) - _MOST_REASONS
    return found[:_MOST_REASONS] + ([f"and {more} more"] if more > 0 else [])
