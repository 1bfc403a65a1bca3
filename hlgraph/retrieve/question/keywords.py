"""Finds the keywords of a question: names in it that may be entities, by its words or by a chat model (HLG, Eq. 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from hlgraph.ids import normalise_name
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.seams import ChatModel
from hlgraph.text import STOP_WORDS

MOST_OF_A_KIND = 10
_PROMPT = Path(__file__).parent / "prompts" / "keywords.md"
_LONGEST = 6  # words, except where capitals or quotation marks hold more together
_LONGEST_RUN = 12
_MOST = 400
_MAX_TOKENS = 2_048  # models that think first need room for that too
_LONGEST_NAME = 120  # characters of a keyword; what a model writes beyond that is a sentence
_WORD = re.compile(r"\w(?:[\w'’.&/+-]*\w)?")
_QUOTED = re.compile(r"[\"“„«](?P<inside>[^\"“”„«»]{2,100})[\"”“»]")
_POSSESSIVE = re.compile(r"['’]s?$")
_PART = re.compile(r"(?im)^[\s*#>-]*(?P<name>keywords?|synonyms?)\W*?:[\s*]*")
_DIVIDER = re.compile(r"[\^\n;|]")
_BULLET = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_AROUND = " \t\r*_`'\"[]{}.,:"
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


class Keyword(NamedTuple):
    """A name to look up.

    Attributes
    ----------
    text : the name
    start, end : its characters in the question; both 0 for one that a model wrote
    """

    text: str
    start: int = 0
    end: int = 0


def names_in(question: str) -> list[Keyword]:
    """Possible names in a question: runs of up to six words, and longer ones in capitals or quotation marks.

    A run does not begin or end with a function word, and has at least one other word. The possessive is cut off, and a full stop
    that may belong to the name is tried, too. At most 400 names: those with capitals first, short ones first. Looking a run up
    decides whether it is a name: see :func:`longest`.

    Examples
    --------
    >>> [keyword.text for keyword in names_in("the Aldane Bridge is steel")]
    ['Aldane', 'Bridge', 'Aldane Bridge', 'Bridge is steel', 'Aldane Bridge is steel', 'steel']
    """
    words = list(_WORD.finditer(question))
    capital = [_is_capital(word[0]) for word in words]
    small = [word[0].lower() in STOP_WORDS for word in words]
    edges = [at for at in range(len(words)) if capital[at] or not small[at]]
    quoted = [match.span("inside") for match in _QUOTED.finditer(question)]
    found: dict[Keyword, tuple[bool, int, int]] = {}
    for place, first in enumerate(edges):
        for last in edges[place : place + _LONGEST_RUN]:
            count = last - first + 1
            start, end = words[first].start(), words[last].end()
            are_capitals = all(capital[first : last + 1])
            is_quoted = any(a <= start and end <= b for a, b in quoted)
            # "The Who": capitals may make a name of function words, but one alone is too often the start of a question.
            is_name = not all(small[first : last + 1]) or (are_capitals and count > 1)
            if is_name and (count <= _LONGEST or (count <= _LONGEST_RUN and (are_capitals or is_quoted))):
                order = (not any(capital[first : last + 1]), count, start)
                for stop in _ends(question, start, end):
                    found.setdefault(Keyword(question[start:stop], start, stop), order)
    return sorted(found, key=lambda keyword: (found[keyword], keyword.end))[:_MOST]


def _is_capital(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit()


def _ends(question: str, start: int, end: int) -> Iterable[int]:
    """Where a name may end: after its last word, before its possessive, after a full stop."""
    yield end
    if possessive := _POSSESSIVE.search(question, start, end):
        yield possessive.start()
    if question[end : end + 1] == ".":
        yield end + 1


def longest(keywords: Iterable[Keyword]) -> list[Keyword]:
    """The keywords that are not inside a longer one, in the order of the question.

    Examples
    --------
    >>> longest([Keyword("Bridge", 20, 26), Keyword("Aldane Bridge", 13, 26), Keyword("crossing")])
    [Keyword(text='crossing', start=0, end=0), Keyword(text='Aldane Bridge', start=13, end=26)]
    """
    kept: list[Keyword] = []
    for each in sorted(set(keywords), key=lambda item: (item.start - item.end, item.start, item.text)):
        if each.end == 0 or not any(other.start <= each.start and each.end <= other.end for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda item: (item.start, item.end, item.text))


def ask_keywords(question: str, model: ChatModel) -> list[Keyword]:
    """The keywords and synonyms that a chat model names, at most ten of each; empty when its reply names none.

    Parameters
    ----------
    question : the question
    model : the chat model

    Returns
    -------
    list of Keyword

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : as the model does

    References
    ----------
    HLG, section 4.1, step 1 (Eq. 1).
    """
    prompt = read_prompt(_PROMPT)
    user = prompt.filled({"question": delimited("question", question)})
    asked = asking_about(model, Purpose(prompt=prompt.version))
    return [Keyword(text) for text in parse_keywords(asked.complete(prompt.system, user, max_tokens=_MAX_TOKENS).text)]


def parse_keywords(reply: str) -> list[str]:
    """The terms of a reply, each once: divided by ``^``, semicolons or lines, bullets and quotation marks taken off.

    Without the labels ``keywords:`` and ``synonyms:`` all of the reply counts as keywords; a line with neither label nor
    divider is divided by its commas.

    Examples
    --------
    >>> parse_keywords("keywords: Aldane Bridge^Mara Quill\\nsynonyms: The Aldane")
    ['Aldane Bridge', 'Mara Quill', 'The Aldane']
    """
    text = _THOUGHTS.sub("", reply).replace("```", "\n")
    labels = list(_PART.finditer(text))
    parts = {"keyword": "" if labels else text, "synonym": ""}
    for label, following in zip_longest(labels, labels[1:]):
        name = label["name"].lower().rstrip("s")
        parts[name] += "\n" + text[label.end() : following.start() if following else len(text)]
    found: dict[str, str] = {}
    for part in parts.values():
        of_part = dict.fromkeys(term for term in _terms(part) if normalise_name(term) not in found)
        found |= {normalise_name(term): term for term in list(of_part)[:MOST_OF_A_KIND]}
    return list(found.values())


def _terms(part: str) -> Iterable[str]:
    divider = _DIVIDER if re.search(r"[\^;|]|\n.*\S.*\n.*\S", part.strip()) else re.compile(r"[,\n]")
    for piece in divider.split(part):
        term = _BULLET.sub("", piece).strip(_AROUND)
        if term and len(term) <= _LONGEST_NAME and normalise_name(term) not in ("", "none"):
            yield term
