"""Builds the messages of the calls from the prompts; pure functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hlgraph.extract.chat.reply_schema import FoundEntity
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum
from hlgraph.models.prompts import Prompt, delimited, read_prompt
from hlgraph.records import Domain

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
    found = [prompt(name).version for name in ("entities", "propositions", "repair")]
    if domain is not None:
        found += [prompt(name).version for name, names in _parts(domain).items() if names]
        found.append(checksum(json.dumps([domain.kinds, domain.topics]))[:_SHORT])
    return "+".join(found)


def version(name: str, domain: Domain | None = None) -> str:
    """Version of the prompt of a call, such as ``entities/1``, or ``entities/1+kinds/1`` with a domain.

    Parameters
    ----------
    name : name of the prompt
    domain : domain of the corpus; default: none

    Returns
    -------
    str
        The version.
    """
    part = _PART_OF.get(name)
    is_named = domain is not None and part is not None and _parts(domain)[part]
    return f"{prompt(name).version}+{prompt(part).version}" if is_named and part else prompt(name).version


def _parts(domain: Domain) -> dict[str, tuple[str, ...]]:
    return {"kinds": domain.kinds, "topics": domain.topics}


def _in_domain(messages: Messages, name: str, *, domain: Domain | None) -> Messages:
    """The messages with the kinds or topics of the domain added; unchanged without a domain."""
    part = _PART_OF[name]
    names = () if domain is None else _parts(domain)[part]
    if not names:
        return messages
    more = prompt(part)
    listed = delimited(part, json.dumps(list(names), ensure_ascii=False))
    return Messages(f"{messages.system}\n\n{more.system}", f"{more.filled({part: listed})}\n\n{messages.user}")


def ask_domain(samples: Sequence[ChunkInput]) -> Messages:
    """The messages that request the domain of a corpus, from sample chunks."""
    chosen = prompt("domain")
    shown = (
        f"[{number}]\n{context(item)}\n{delimited('text', item.text[:_MOST_CHARACTERS])}"
        for number, item in enumerate(samples, 1)
    )
    return Messages(chosen.system, chosen.filled({"samples": "\n\n".join(shown)}))


def ask_entities(chunk: ChunkInput, domain: Domain | None = None) -> Messages:
    """The messages of the first call, for entities.

    Parameters
    ----------
    chunk : the chunk
    domain : domain of the corpus; default: none

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
    domain : domain of the corpus; default: none

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("propositions")
    names = json.dumps([item.name for item in entities], ensure_ascii=False)
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
    """Title and headings of a chunk, as delimited text for a prompt."""
    lines = [f"Title: {chunk.title}"] if chunk.title else []
    lines.extend(f"Heading: {heading}" for heading in chunk.headings)
    return delimited("context", "\n".join(lines) or "No title.")
