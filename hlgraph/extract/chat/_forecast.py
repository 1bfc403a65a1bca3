"""What the calls for a chunk will send and bring, before one is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hlgraph.extract.chat._messages import Messages, ask_entities, ask_propositions, prompt
from hlgraph.extract.chat._schema import FoundEntities, FoundEntity, FoundPropositions, ReplyError, is_readable, parse
from hlgraph.extract.seam import ChunkInput
from hlgraph.models.tokens import estimated_tokens, request_tokens

# Tokens of a reply for each token of the chunk, and of the list of names in the second request: measured on what
# gpt-4o-mini and Llama-3-70B extracted from 1,500 passages of an encyclopaedia, written in the form of the prompts.
_ENTITIES, _PROPOSITIONS, _NAMES = 1.75, 5.0, 0.62


class NextCall(NamedTuple):
    """The call that a chunk needs next: the version of its prompt, its messages, and which replies can be read."""

    prompt: str
    messages: Messages
    is_readable: Callable[[str], bool]


def next_call(chunk: ChunkInput, *, kept: Callable[[str, Messages], str | None]) -> NextCall | None:
    """The first of the two calls for a chunk whose reply is not kept; None when both are.

    Parameters
    ----------
    kept : the kept reply to a request with a prompt of this version, None where there is none
    """
    first = NextCall(prompt("entities").version, ask_entities(chunk), lambda text: is_readable(text, FoundEntities))
    reply = kept(first.prompt, first.messages)
    if reply is None or not first.is_readable(reply):
        return first
    messages = ask_propositions(chunk, parse(reply, FoundEntities).entities)
    second = NextCall(prompt("propositions").version, messages, lambda text: is_readable(text, FoundPropositions))
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
    chunk: ChunkInput, *, max_tokens: int, kept: Callable[[str, Messages], str | None]
) -> tuple[ExpectedCall, ExpectedCall]:
    """The two calls for a chunk, without those that ask again.

    Parameters
    ----------
    max_tokens : of one reply
    kept : the kept reply to a request with a prompt of this version, None where there is none
    """
    text = estimated_tokens(chunk.text)
    names = int(_NAMES * text)
    first, entities = ask_entities(chunk), prompt("entities").version
    listed: list[FoundEntity] = []
    reply = kept(entities, first)
    if reply is not None:
        try:
            listed, names = parse(reply, FoundEntities).entities, 0
        except ReplyError:
            reply = None
    second, propositions = ask_propositions(chunk, listed), prompt("propositions").version
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
            request_tokens(*ask_entities(empty)),
            is_kept=reply is not None,
        ),
        ExpectedCall(
            propositions,
            request_tokens(*second) + names,
            min(max_tokens, int(_PROPOSITIONS * text)),
            request_tokens(*ask_propositions(empty, [])),
            guessed_tokens=names,
            is_kept=found is not None,
        ),
    )
