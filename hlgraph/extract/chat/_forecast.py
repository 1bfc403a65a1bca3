"""What the calls for a chunk will send and bring, before one is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hlgraph.extract.chat._domain import DOMAIN_TOKENS, GUESSED, read_domain
from hlgraph.extract.chat.messages import Messages, ask_domain, ask_entities, ask_propositions, prompt, version
from hlgraph.extract.chat.reply_schema import (
    FoundEntities,
    FoundEntity,
    FoundPropositions,
    ReplyError,
    is_readable,
    parse,
)
from hlgraph.extract.seam import ChunkInput
from hlgraph.models.tokens import estimated_tokens, request_tokens
from hlgraph.records import Domain

# Tokens of a reply for each token of the chunk, and of the list of names in the second request: measured on what
# gpt-4o-mini and Llama-3-70B extracted from 1,500 passages of an encyclopaedia, written in the form of the prompts.
_ENTITIES, _PROPOSITIONS, _NAMES = 1.75, 5.0, 0.62


class NextCall(NamedTuple):
    """The call that a chunk needs next: the version of its prompt, its messages, and which replies can be read."""

    prompt: str
    messages: Messages
    is_readable: Callable[[str], bool]


def next_call(
    chunk: ChunkInput, *, kept: Callable[[str, Messages], str | None], domain: Domain | None = None
) -> NextCall | None:
    """The first of the two calls for a chunk whose reply is not kept; None when both are.

    Parameters
    ----------
    kept : the kept reply to a request with a prompt of this version, None where there is none
    """
    asked = ask_entities(chunk, domain)
    first = NextCall(version("entities", domain), asked, lambda text: is_readable(text, FoundEntities))
    reply = kept(first.prompt, first.messages)
    if reply is None or not first.is_readable(reply):
        return first
    messages = ask_propositions(chunk, parse(reply, FoundEntities).entities, domain=domain)
    second = NextCall(version("propositions", domain), messages, lambda text: is_readable(text, FoundPropositions))
    reply = kept(second.prompt, second.messages)
    return None if reply is not None and second.is_readable(reply) else second


class ExpectedCall(NamedTuple):
    """One call: the version of its prompt, and about how many tokens.

    ``frame_tokens`` of the input are those of the prompt itself, the same for every chunk; ``guessed_tokens`` of it stand for
    what the reply to the first call will bring; ``is_kept``: its reply is kept, so it will cost nothing.
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
    """The two calls for a chunk, without those that ask again.

    Parameters
    ----------
    max_tokens : of one reply
    kept : the kept reply to a request with a prompt of this version, None where there is none
    """
    text = estimated_tokens(chunk.text)
    names = int(_NAMES * text)
    first, entities = ask_entities(chunk, domain), version("entities", domain)
    listed: list[FoundEntity] = []
    reply = kept(entities, first)
    if reply is not None:
        try:
            listed, names = parse(reply, FoundEntities).entities, 0
        except ReplyError:
            reply = None
    second, propositions = ask_propositions(chunk, listed, domain=domain), version("propositions", domain)
    found = kept(propositions, second) if reply is not None else None
    if found is not None:
        try:
            parse(found, FoundPropositions)
        except ReplyError:
            found = None
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
            is_kept=found is not None,
        ),
    )


def expected_domain(
    samples: Sequence[ChunkInput], *, model: str, max_tokens: int, kept: Callable[[str, Messages], str | None]
) -> tuple[ExpectedCall, Domain]:
    """The call that infers the domain of a corpus, and the domain: that of its reply where that is kept, else a guess at its
    length.

    Parameters
    ----------
    max_tokens : of the reply
    kept : see :func:`expected_calls`
    """
    asked, name = ask_domain(samples), prompt("domain").version
    frame = request_tokens(*ask_domain([]))
    reply = kept(name, asked)
    found = None
    if reply is not None:
        try:
            found = read_domain(reply, model=model)
        except ReplyError:
            found = None
    expected = ExpectedCall(
        name, request_tokens(*asked), min(max_tokens, DOMAIN_TOKENS), frame, is_kept=found is not None
    )
    return expected, found or GUESSED
