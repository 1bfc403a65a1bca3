"""The messages of the calls, built from the prompts; pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hlgraph.extract.chat._schema import FoundEntity
from hlgraph.extract.seam import ChunkInput
from hlgraph.models.prompts import Prompt, delimited, read_prompt

_FOLDER = Path(__file__).parents[1] / "prompts"


class Messages(NamedTuple):
    """What is said in one call."""

    system: str
    user: str


def prompt(name: str) -> Prompt:
    """The prompt of this name."""
    return read_prompt(_FOLDER / f"{name}.md")


def versions() -> str:
    """The versions of all prompts of the extraction."""
    return "+".join(prompt(name).version for name in ("entities", "propositions", "repair"))


def ask_entities(chunk: ChunkInput) -> Messages:
    """The first call."""
    chosen = prompt("entities")
    return Messages(chosen.system, chosen.filled({"context": context(chunk), "text": delimited("text", chunk.text)}))


def ask_propositions(chunk: ChunkInput, entities: Sequence[FoundEntity]) -> Messages:
    """The second call, with what the first one found."""
    chosen = prompt("propositions")
    names = json.dumps([item.name for item in entities], ensure_ascii=False)
    values = {
        "context": context(chunk),
        "entities": delimited("entities", names),
        "text": delimited("text", chunk.text),
    }
    return Messages(chosen.system, chosen.filled(values))


def ask_again(asked: Messages, reply: str, *, reason: str) -> Messages:
    """The one call that asks for a reply in the right form."""
    chosen = prompt("repair")
    values = {"request": asked.user, "reply": delimited("reply", reply), "reason": reason}
    return Messages(f"{asked.system}\n\n{chosen.system}", chosen.filled(values))


def context(chunk: ChunkInput) -> str:
    """The title and the headings of a chunk as data."""
    lines = [f"Title: {chunk.title}"] if chunk.title else []
    lines.extend(f"Heading: {heading}" for heading in chunk.headings)
    return delimited("context", "\n".join(lines) or "No title.")
