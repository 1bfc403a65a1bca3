"""Parses the chat model's replies in the steps of a strategy: lenient about form, strict about values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.protocols import ChatModel

PROMPTS = Path(__file__).parent / "prompts"
_MAX_TOKENS = 2_048  # models that think first need room for that too
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•–#>]|\(?\d{1,2}[.):])\s*")
_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
_YES_OR_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_LONGEST = 500


def unheard(what: str) -> None:
    """Ignore the message that a reply could not be used."""


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
    asked = asking_about(model, Purpose(prompt=prompt.version), accept=lambda reply: accept(_said(reply)))
    return _said(asked.complete(prompt.system, prompt.filled(values), max_tokens=_MAX_TOKENS).text)


def _said(reply: str) -> str:
    return _THOUGHTS.sub("", reply).strip()


def fingerprint(model: ChatModel, prompt_name: str) -> str:
    """The versions of a prompt and of a model.

    Parameters
    ----------
    model : the chat model
    prompt_name : of the prompt

    Returns
    -------
    str
    """
    return f"{read_prompt(PROMPTS / f'{prompt_name}.md').version}+{model.fingerprint}"


def numbered(texts: Sequence[str], name: str = "statement") -> str:
    """Texts as data between markers, numbered from 1.

    Parameters
    ----------
    texts : the texts
    name : of the mark

    Returns
    -------
    str
    """
    return "\n".join(f"[{number}]\n{delimited(name, ' '.join(text.split()))}" for number, text in enumerate(texts, 1))


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
    widened = _RANGE.sub(lambda match: " ".join(_spread(int(match[1]), int(match[2]), most)), reply)
    named = list(dict.fromkeys(int(each) for each in re.findall(r"\d+", widened)))
    usable = [each for each in named if 1 <= each <= most]
    if usable or re.search(r"\bnone\b|\[\s*\]", reply, re.IGNORECASE):
        return usable
    return None


def _spread(first: int, last: int, most: int) -> list[str]:
    return [str(each) for each in range(first, min(last, most) + 1)]


def says_yes(reply: str) -> bool:
    """Whether the first ``yes`` or ``no`` of a reply is a yes.

    Examples
    --------
    >>> says_yes("**Yes**, they do."), says_yes("No. Yes would be wrong."), says_yes("Perhaps.")
    (True, False, False)
    """
    match = _YES_OR_NO.search(reply)
    return match is not None and match[1].lower() == "yes"


def says_either(reply: str) -> bool:
    """Whether a reply has a ``yes`` or a ``no`` at all.

    Examples
    --------
    >>> says_either("No."), says_either("Perhaps.")
    (True, False)
    """
    return _YES_OR_NO.search(reply) is not None


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
    lines: dict[str, str] = {}
    for line in reply.splitlines():
        text = _BULLET.sub("", line).strip()
        if any(map(str.isalnum, text)) and len(text) <= _LONGEST and text.casefold().strip(".") != "none":
            lines.setdefault(text.casefold(), text)
    return tuple(lines.values())[:most]
