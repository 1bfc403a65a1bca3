"""Prompts as files: a version line, then what stands in the system message and in the user message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from hlgraph.errors import ModelError
from hlgraph.ids import checksum

_PARTS = re.compile(
    r"version: (?P<version>[\w./-]+)\n=== system ===\n(?P<system>.*?)\n=== user ===\n(?P<user>.*)", re.DOTALL
)
_MARK = 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; ``$name`` in ``user`` stands for a value. ``version`` changes with every change of the words."""

    version: str
    system: str
    user: str

    def filled(self, values: Mapping[str, str]) -> str:
        """The user message with these values, which are not looked into. Raises ModelError when names do not match.

        Examples
        --------
        >>> Prompt("greeting/1", "Be short.", "Greet $name.").filled({"name": "$you"})
        'Greet $you.'
        """
        template = Template(self.user)
        wanted = set(template.get_identifiers())
        if wanted != set(values):
            raise ModelError(
                f"prompt {self.version} wants {sorted(wanted)} and is given {sorted(values)}; correct the call"
            )
        return template.substitute(values)


def read_prompt(path: Path) -> Prompt:
    """The prompt of a file. Raises ModelError when it is missing or has not the three parts."""
    return _read(path)


@cache
def _read(path: Path) -> Prompt:
    try:
        found = _PARTS.fullmatch(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: the prompt cannot be read ({error}); install hlgraph again") from error
    if found is None:
        raise ModelError(f"{path}: a prompt begins with a version line, then === system ===, then === user ===")
    return Prompt(found["version"], found["system"].strip(), found["user"].strip())


def delimited(name: str, text: str) -> str:
    """Foreign text between marks that it cannot write itself, since they are made from all of it.

    Examples
    --------
    >>> print(delimited("text", "A bridge."))
    <text 22f9d6f2>
    A bridge.
    </text 22f9d6f2>
    """
    mark = checksum(name, text)[:_MARK]
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"
