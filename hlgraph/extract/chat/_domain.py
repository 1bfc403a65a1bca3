"""The domain of a corpus, inferred by a chat model or given by a person. Its size is limited to keep prompts short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from hlgraph.errors import InputError, ModelAnswerError
from hlgraph.extract.chat.messages import (
    ReplyError,
    Words,
    _Part,
    ask_and_repair,
    ask_domain,
    is_readable,
    parse,
    prompt,
    reasons,
    schema,
)
from hlgraph.extract.extractor import ChunkInput
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.protocols import Completion
from hlgraph.records import Domain

_MOST_KINDS, _LONGEST_KIND = 15, 40
_MOST_TOPICS, _LONGEST_TOPIC = 20, 80
DOMAIN_TOKENS = 250
"""Approximate length of a reply about a domain, in tokens."""
GUESSED = Domain(("kind of things",) * 10, ("topic of some documents",) * 12)
"""Placeholder of typical length for a domain that is not known yet; for token estimates."""


def _kind(text: str) -> str:
    if len(text) > _LONGEST_KIND:
        raise ValueError(f"must be a kind of at most {_LONGEST_KIND} characters")
    return text.lower()


def _topic(text: str) -> str:
    if len(text) > _LONGEST_TOPIC:
        raise ValueError(f"must be a topic of at most {_LONGEST_TOPIC} characters")
    return text


def _once(names: list[str]) -> list[str]:
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(name.casefold(), name)
    return list(by_key.values())


Kinds = Annotated[list[Annotated[Words, AfterValidator(_kind)]], Field(max_length=_MOST_KINDS), AfterValidator(_once)]
Topics = Annotated[
    list[Annotated[Words, AfterValidator(_topic)]], Field(max_length=_MOST_TOPICS), AfterValidator(_once)
]


class FoundDomain(_Part):
    """The reply about the samples of a corpus."""

    kinds: Annotated[Kinds, Field(min_length=1)]
    topics: Annotated[Topics, Field(min_length=1)]


class GivenDomain(_Part):
    """A domain given by a person; one of the two lists may be omitted."""

    kinds: Kinds = Field(default_factory=list)
    topics: Topics = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not (self.kinds or self.topics):
            raise ValueError("must name kinds or topics")
        return self


def given_domain(tree: object) -> Domain:
    """The domain in a mapping with ``kinds`` and ``topics``. Raises InputError if the mapping has another form."""
    try:
        parsed = GivenDomain.model_validate(tree)
    except ValidationError as error:
        raise InputError(
            f"the domain cannot be used: {'; '.join(reasons(error))}; give at most {_MOST_KINDS} kinds of entities and "
            f"{_MOST_TOPICS} topics, as {{kinds: [drug, side effect], topics: [safety of patients]}}"
        ) from error
    return Domain(tuple(parsed.kinds), tuple(parsed.topics))


def read_domain(reply: str, *, model: str) -> Domain:
    """The domain in the reply of a model.

    Parameters
    ----------
    reply : the reply
    model : fingerprint of the model

    Returns
    -------
    Domain
        The domain.

    Raises
    ------
    ReplyError
        The reply has another form.
    """
    parsed = parse(reply, FoundDomain)
    return Domain(tuple(parsed.kinds), tuple(parsed.topics), f"{prompt('domain').version}+{model}")


def infer_domain(model: Executor, samples: Sequence[ChunkInput], *, max_tokens: int, usage: Usage) -> Domain:
    """The domain of a corpus, inferred from sample chunks: one call, and a second one if its reply cannot be read.

    Parameters
    ----------
    model : executor of the chat model, with its ledger (stage ``domain``), stored replies and budget
    samples : sample chunks of the corpus
    max_tokens : maximum length of the reply, in tokens
    usage : counts the calls and their tokens

    Returns
    -------
    Domain
        The domain.

    Raises
    ------
    ModelAnswerError
        Neither reply can be used.
    ModelUnavailableError, ModelAccessError, BudgetError
        The provider or the budget stops the call.

    References
    ----------
    HLG, section 6.2, step 2.
    """

    def about(version: str) -> Asking:
        # No source: the samples come from several, so the reply is deleted with the first change that removes something.
        purpose = Purpose(stage="domain", prompt=version)
        return model.about(purpose, accept=lambda text: is_readable(text, FoundDomain), form=schema(FoundDomain))

    try:
        return ask_and_repair(
            about,
            ask_domain(samples),
            version=prompt("domain").version,
            max_tokens=max_tokens,
            read=lambda reply: read_domain(_whole(reply), model=model.fingerprint),
            on_reply=usage.add,
        )
    except ReplyError as error:
        raise ModelAnswerError(
            f"{model.fingerprint} was asked twice for the domain of the corpus, and its reply cannot be used: {error}; "
            "nothing was changed; repeat the command, choose another chat model, or write the domain by hand: "
            "hlgraph domain set"
        ) from error


def _whole(reply: Completion) -> str:
    """The text of a reply. Raises ReplyError if it is cut off, even if the part parses."""
    if reply.is_cut:
        raise ReplyError("it is cut off even at twice the length limit; raise models.max_tokens")
    return reply.text
