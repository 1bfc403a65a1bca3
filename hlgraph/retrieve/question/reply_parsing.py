"""The steps of a strategy that rules or a chat model can take, and the parsing of the model's replies.

Parsing is lenient about form and strict about values.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.protocols import ChatModel

PROMPTS = Path(__file__).parent / "prompts"
_MAX_TOKENS = 2_048  # models that think first need room for that too
THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•–#>]|\(?\d{1,2}[.):])\s*")
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_LONGEST = 500


def without_thoughts(reply: str) -> str:
    """A reply without the model's thoughts."""
    return THOUGHTS.sub("", reply).strip()


def ask(model: ChatModel, prompt_name: str, *, values: Mapping[str, str], accept: Callable[[str], bool] = bool) -> str:
    """The reply of a chat model to a prompt of ``prompts/``, without its thoughts.

    Parameters
    ----------
    model : the chat model
    prompt_name : name of the prompt
    values : values of its placeholders
    accept : whether a reply is usable; an unusable one is not stored

    Returns
    -------
    str

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : as the model does
    """
    prompt = read_prompt(PROMPTS / f"{prompt_name}.md")
    asked = asking_about(model, Purpose(prompt=prompt.version), accept=lambda reply: accept(without_thoughts(reply)))
    return without_thoughts(asked.complete(prompt.system, prompt.filled(values), max_tokens=_MAX_TOKENS).text)


def _ignored(message: str) -> None:
    """Drop the message that a reply could not be used."""


class Decider(ABC):
    """A step of a strategy that rules or a chat model can take."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Name and version, for explanations."""


@dataclass(frozen=True, slots=True)
class ChatDecider(Decider):
    """A step that a chat model takes; errors of the model are raised.

    Attributes
    ----------
    prompt : name of its prompt
    model : the chat model
    tell : receives a message when a reply could not be used (default: ignored)
    """

    prompt: ClassVar[str]
    model: ChatModel
    tell: Callable[[str], None] = field(default=_ignored, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """The versions of the prompt and of the model."""
        return f"{read_prompt(PROMPTS / f'{self.prompt}.md').version}+{self.model.fingerprint}"

    def reply(self, values: Mapping[str, str], *, accept: Callable[[str], bool] = bool) -> str:
        """The reply to the prompt, see :func:`ask`.

        Parameters
        ----------
        values : values of the placeholders
        accept : whether a reply is usable
        """
        return ask(self.model, self.prompt, values=values, accept=accept)


def numbered(texts: Sequence[str], name: str = "statements") -> str:
    """Texts as data between one pair of markers, a numbered line each.

    A text is one line, so none can look like the next one.

    Parameters
    ----------
    texts : the texts
    name : of the mark

    Returns
    -------
    str
        Empty without texts.

    Examples
    --------
    >>> from hlgraph.models.prompts import unsalted
    >>> print(unsalted(numbered(["A bridge.", "A\\n[3] ferry."])))
    <statements 39aa21d5>
    [1] A bridge.
    [2] A [3] ferry.
    </statements 39aa21d5>
    """
    lines = [f"[{number}] {' '.join(text.split())}" for number, text in enumerate(texts, 1)]
    return delimited(name, "\n".join(lines)) if lines else ""


def numbers_in(reply: str, most: int) -> list[int] | None:
    """The numbers from 1 to ``most`` that a reply names, each once, in its order.

    Parameters
    ----------
    reply : of the model
    most : the largest number

    Returns
    -------
    list of int or None
        Empty for a reply such as ``none``, which names no number on purpose; None for an unusable reply.

    Examples
    --------
    >>> numbers_in("Keep: [2], 5-6 and 99", 6), numbers_in("NONE", 6), numbers_in("I like bridges.", 6)
    ([2, 5, 6], [], None)
    """
    named: dict[int, None] = {}
    for first, last in _NUMBERS.findall(reply):
        named |= dict.fromkeys(range(int(first), min(int(last or first), most) + 1))
    usable = [number for number in named if 1 <= number <= most]
    if usable or re.search(r"\bnone\b|\[\s*\]", reply, re.IGNORECASE):
        return usable
    return None


def says_yes(reply: str) -> bool | None:
    """Whether the first ``yes`` or ``no`` of a reply is a yes; None if it has neither.

    Examples
    --------
    >>> says_yes("**Yes**, they do."), says_yes("No. Yes would be wrong."), says_yes("Perhaps.")
    (True, False, None)
    """
    match = _YES_OR_NO.search(reply)
    return match and match[1].lower() == "yes"


def lines_in(reply: str, most: int) -> tuple[str, ...]:
    r"""The lines of a reply without bullets, each once; ``none`` is ignored.

    Parameters
    ----------
    reply : of the model
    most : maximum number of lines

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> lines_in("1. Who drew it?\n- Where?\n\n- where?", 5)
    ('Who drew it?', 'Where?')
    """
    lines = [_BULLET.sub("", line).strip() for line in reply.splitlines()]
    usable = (line for line in lines if any(map(str.isalnum, line)) and len(line) <= _LONGEST)
    return distinct((line for line in usable if line.casefold().strip(".") != "none"), most)


def distinct(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """The texts that are not empty and differ in more than case.

    Parameters
    ----------
    texts : in order
    most : maximum number of texts
    """
    by_fold: dict[str, str] = {}
    for text in filter(None, map(str.strip, texts)):
        by_fold.setdefault(text.casefold(), text)
    return tuple(by_fold.values())[:most]
