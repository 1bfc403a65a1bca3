"""What the title of a document is called in its text, and whether it names an entity at all."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from hlgraph.extract.local._lexicon import ORDINARY
from hlgraph.extract.local._values import Found

_DISAMBIGUATION = re.compile(r"\s*[(（]([^()（）]*)[)）]$")
_FILE = re.compile(r"[_/\\]|\.\w{2,5}$|^https?:")
_QUESTION = re.compile(
    r"(?:how|why|what|when|where|who|which|top|best|untitled|page|part|chapter)\b|\d+\s(?:ways|things|best)", re.I
)
_ARTICLE = re.compile(r"(?:the|a|an)\s+(?=\S{3})", re.I)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&.-]{1,9}$")
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST = 120


class Title(NamedTuple):
    """A title and its names.

    ``full`` is the title, ``bare`` the title without its disambiguation in brackets: the name that statements mention.
    ``aliases`` are other entities that it is (the full title, the acronym in brackets, the bare name without its
    article): one statement a chunk mentions them, which joins them to the bare name in the graph. ``forms``: what stands
    for it in its own document; all but the last ``ambiguous`` of them tell a stranger what is meant. ``is_name``: whether it is short and written like the name of something.
    """

    full: str
    bare: str
    aliases: tuple[str, ...]
    forms: tuple[str, ...]
    is_name: bool


def read_title(title: str) -> Title:
    """What a title is called.

    Examples
    --------
    >>> read_title("The Beach (film)")[:3]
    ('The Beach (film)', 'The Beach', ('The Beach (film)', 'Beach'))
    >>> read_title("How to install a printer").is_name
    False
    """
    full = " ".join((html.unescape(title) if "&" in title else title).split())
    if len(full) > _LONGEST:
        full = full[:_LONGEST].rsplit(" ", 1)[0] + " …"
    match = _DISAMBIGUATION.search(full)
    bare = full[: match.start()] if match and match.start() else full
    is_name = _is_name(bare)
    aliases = [full] if bare != full else []
    forms = [full, bare] if bare != full else [bare]
    if match and _ACRONYM.match(match[1]):
        aliases = [match[1]]
        forms.append(match[1])
    if article := _ARTICLE.match(bare):
        rest = bare[article.end() :]
        if rest[0].isupper():
            aliases.append(rest)
            if rest.lower() not in ORDINARY:
                forms.append(rest)
    head = bare.split(",")[0]
    if head != bare and head[0:1].isupper() and head.lower() not in ORDINARY and len(head) > 2:
        forms.append(head)
    return Title(full, bare, tuple(aliases) if is_name else (), tuple(form for form in forms if form), is_name)


def _is_name(bare: str) -> bool:
    count = len(bare.split())
    if not 0 < count <= 8 or len(bare) > 80 or bare[-1] in "?!？！。…:" or not _LETTER.search(bare):
        return False
    return not _FILE.search(bare) and not _QUESTION.match(bare) and not (count == 1 and bare.lower() in ORDINARY)


def occurrences(text: str, title: Title) -> list[Found]:
    """Where a sentence names the title, in order, not overlapping; a form of one word must have its capital."""
    spans: list[tuple[int, int]] = []
    lower = text.lower()
    for form in title.forms:
        is_loose = " " in form and len(lower) == len(text)
        where, what = (lower, form.lower()) if is_loose else (text, form)
        start = where.find(what)
        while start >= 0:
            end = start + len(what)
            if _is_whole(text, start, end):
                spans.append((start, end))
            start = where.find(what, end)
    found: list[Found] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not found or start >= found[-1].end:
            found.append(Found(start, end, title.bare, ""))
    return found


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a match does not cut a word of a script with spaces."""
    for outside, inside in ((start - 1, start), (end, end - 1)):
        if 0 <= outside < len(text) and text[outside].isalnum() and text[inside].isalnum():
            spaced = _is_spaced(text[outside]) and _is_spaced(text[inside])
            if spaced:
                return False
    return True


def _is_spaced(character: str) -> bool:
    return not (
        "\u0e00" <= character <= "\u0eff"
        or "\u1000" <= character <= "\u109f"
        or "\u3040" <= character <= "\u9fff"
        or "\uac00" <= character <= "\ud7af"
    )
