"""Forecast the calls for a chunk and their tokens, before any call is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hlgraph.extract.chat._domain import DOMAIN_TOKENS, GUESSED, FoundDomain, read_domain
from hlgraph.extract.chat._salvage import whole
from hlgraph.extract.chat.messages import (
    FoundEntities,
    FoundPropositions,
    Messages,
    Reply,
    ReplyError,
    accepts,
    ask_domain,
    ask_entities,
    ask_propositions,
    is_readable,
    prompt,
    version,
)
from hlgraph.extract.extractor import ChunkInput
from hlgraph.models.prompts import estimated_tokens, request_tokens
from hlgraph.records import Domain

# Tokens per token of the chunk: of the first reply, the second reply, and the names in the second request. Measured on
# extractions by gpt-4o-mini and Llama-3-70B from 1,500 encyclopaedia passages, written in the form of the prompts.
_ENTITIES, _PROPOSITIONS, _NAMES = 1.75, 5.0, 0.62


class NextCall(NamedTuple):
    """The next call for a chunk.

    Attributes
    ----------
    prompt : version of its prompt
    messages : its messages
    is_readable : whether a reply can be parsed
    """

    prompt: str
    messages: Messages
    is_readable: Callable[[str], bool]


def next_call(
    chunk: ChunkInput, *, kept: Callable[[str, Messages], str | None], domain: Domain | None = None
) -> NextCall | None:
    """The first of the two calls for a chunk that has no stored reply; None if both have one.

    Parameters
    ----------
    chunk : the chunk
    kept : maps a prompt version and messages to the stored reply, or None if there is none
    domain : domain of the corpus; default None

    Returns
    -------
    NextCall or None
        The call.
    """
    first, entities = ask_entities(chunk, domain), version("entities", domain)
    reply = _stored(kept, entities, first, form=FoundEntities)
    if reply is None:
        return NextCall(entities, first, lambda text: accepts(lambda own: whole(own, FoundEntities), text))
    second, propositions = ask_propositions(chunk, reply.entities, domain=domain), version("propositions", domain)
    if _stored(kept, propositions, second, form=FoundPropositions) is None:
        return NextCall(propositions, second, lambda text: accepts(lambda own: whole(own, FoundPropositions), text))
    return None


def _stored(
    kept: Callable[[str, Messages], str | None], prompt: str, messages: Messages, *, form: type[Reply]
) -> Reply | None:
    """The parsed stored reply; None if there is none, or if it cannot be read."""
    reply = kept(prompt, messages)
    try:
        return None if reply is None else whole(reply, form)
    except ReplyError:
        return None


class ExpectedCall(NamedTuple):
    """Forecast of one call.

    Attributes
    ----------
    prompt : version of its prompt
    input_tokens, output_tokens : estimated tokens of the request and the reply
    frame_tokens : input tokens of the prompt itself, equal for every chunk
    guessed_tokens : input tokens assumed for the names in the first reply
    is_kept : the reply is stored, so the call costs nothing
    """

    prompt: str
    input_tokens: int
    output_tokens: int
    frame_tokens: int
    guessed_tokens: int = 0
    is_kept: bool = False


def expected_calls(
    chunk: ChunkInput,
    *,
    max_tokens: int,
    kept: Callable[[str, Messages], str | None],
    domain: Domain | None = None,
) -> tuple[ExpectedCall, ExpectedCall]:
    """Forecasts of the two calls for a chunk; repair calls are not included.

    Parameters
    ----------
    chunk : the chunk
    max_tokens : maximum length of a reply, in tokens
    kept : maps a prompt version and messages to the stored reply, or None if there is none
    domain : domain of the corpus; default None

    Returns
    -------
    tuple
        The call for entities and the call for propositions.
    """
    text = estimated_tokens(chunk.text)
    first, entities = ask_entities(chunk, domain), version("entities", domain)
    reply = _stored(kept, entities, first, form=FoundEntities)
    names = int(_NAMES * text) if reply is None else 0
    second = ask_propositions(chunk, [] if reply is None else reply.entities, domain=domain)
    propositions = version("propositions", domain)
    is_kept = reply is not None and _stored(kept, propositions, second, form=FoundPropositions) is not None
    empty = ChunkInput("")
    return (
        ExpectedCall(
            entities,
            request_tokens(*first),
            min(max_tokens, int(_ENTITIES * text)),
            request_tokens(*ask_entities(empty, domain)),
            is_kept=reply is not None,
        ),
        ExpectedCall(
            propositions,
            request_tokens(*second) + names,
            min(max_tokens, int(_PROPOSITIONS * text)),
            request_tokens(*ask_propositions(empty, [], domain=domain)),
            guessed_tokens=names,
            is_kept=is_kept,
        ),
    )


def expected_domain(
    samples: Sequence[ChunkInput], *, model: str, max_tokens: int, kept: Callable[[str, Messages], str | None]
) -> tuple[ExpectedCall, Domain]:
    """Forecast of the call that infers the domain of a corpus, and the domain, to estimate the tokens of other calls.

    Parameters
    ----------
    samples : sample chunks of the corpus
    model : fingerprint of the model
    max_tokens : maximum length of the reply, in tokens
    kept : see :func:`expected_calls`

    Returns
    -------
    tuple
        The call, and the domain: from the stored reply if there is one, else a placeholder of typical length.
    """
    messages, name = ask_domain(samples), prompt("domain").version
    frame = request_tokens(*ask_domain([]))
    reply = kept(name, messages)
    domain = read_domain(reply, model=model) if reply is not None and is_readable(reply, FoundDomain) else None
    expected = ExpectedCall(
        name, request_tokens(*messages), min(max_tokens, DOMAIN_TOKENS), frame, is_kept=domain is not None
    )
    return expected, domain or GUESSED
