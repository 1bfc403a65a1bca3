"""Replies corrected by a person: parsed as strictly as a model's, and converted to an extraction in the same way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from hlgraph.extract.chat._convert import to_extraction
from hlgraph.extract.chat.messages import Messages, ask_entities, ask_propositions, version
from hlgraph.extract.chat.reply_schema import (
    FoundEntities,
    FoundEntity,
    FoundPropositions,
    MendedReply,
    is_readable,
    parse,
)
from hlgraph.extract.seam import ChunkInput
from hlgraph.records import Domain, Extraction


class MendedCall(NamedTuple):
    """A call (the version of its prompt and its messages) and the corrected reply to it."""

    prompt: str
    messages: Messages
    reply: str


class Mended(NamedTuple):
    """The result of a corrected reply.

    Attributes
    ----------
    extraction : the extraction
    left_out : names that were left out, see :func:`hlgraph.extract.chat._convert.to_extraction`
    calls : the two calls that the reply answers
    """

    extraction: Extraction
    left_out: tuple[str, ...]
    calls: tuple[MendedCall, MendedCall]


def mended(chunk: ChunkInput, reply: str, *, replies: Sequence[str], domain: Domain | None = None) -> Mended:
    """The extraction of a chunk from a corrected reply.

    The entities are those in ``reply``; else those in the last of ``replies`` that is a list of entities; else the names in
    the propositions.

    Parameters
    ----------
    chunk : the chunk
    reply : the corrected reply
    replies : the model's own replies, in order
    domain : domain of the corpus; default: none

    Returns
    -------
    Mended
        The extraction, and the calls that the reply answers.

    Raises
    ------
    ReplyError
        The reply has another form.
    """
    found = parse(reply, MendedReply)
    entities = _entities(found, replies)
    extraction, left_out = to_extraction(chunk, entities, found.propositions)
    first = MendedCall(
        version("entities", domain),
        ask_entities(chunk, domain),
        _text(FoundEntities(entities=list(entities))),
    )
    second = MendedCall(
        version("propositions", domain),
        ask_propositions(chunk, entities, domain=domain),
        _text(FoundPropositions(propositions=found.propositions)),
    )
    return Mended(extraction, left_out, (first, second))


def _entities(found: MendedReply, replies: Sequence[str]) -> Sequence[FoundEntity]:
    if found.entities is not None:
        return found.entities
    own = next((text for text in reversed(replies) if is_readable(text, FoundEntities)), None)
    if own is not None:
        return parse(own, FoundEntities).entities
    names = dict.fromkeys(name for item in found.propositions for name in item.entities)
    return [FoundEntity(name=name) for name in names]


def _text(form: FoundEntities | FoundPropositions) -> str:
    return json.dumps(form.model_dump(), ensure_ascii=False)
