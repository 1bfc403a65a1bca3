"""Topics of a chunk: its title, its headings, and a few of its own phrases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from hlgraph.extract.local._layout import Unit
from hlgraph.extract.local._title import Title
from hlgraph.extract.local._values import Found
from hlgraph.text import STOP_WORDS, BlockKind

_WORD = r"[^\W\d_A-Z]++(?:-[^\W\d_A-Z]++)*+"
# A noun phrase is taken only where a small word announces it: that keeps most verbs out.
_ANNOUNCED = re.compile(
    r"\b(?:an?|the|of|as|his|her|its|their|for|with|and|in|by|into|from|about|on|to|The|An?) "
    rf"(?=({_WORD}(?: {_WORD}){{1,6}}+))"
)
# Where one of these begins, a phrase ends.
_BORDERS = STOP_WORDS | {
    *(
        "used",
        "known",
        "made",
        "based",
        "called",
        "named",
        "born",
        "found",
        "given",
        "became",
        "become",
        "begin",
        "began",
    ),
    *(
        "located",
        "released",
        "includes",
        "include",
        "included",
        "including",
        "following",
        "followed",
        "follows",
        "using",
    ),
    *("one", "two", "three", "four", "five", "first", "second", "third", "last", "next", "several", "many", "various"),
    *(
        "different",
        "same",
        "other",
        "such",
        "late",
        "early",
        "later",
        "soon",
        "back",
        "well",
        "often",
        "usually",
        "like",
    ),
    *(
        "died",
        "married",
        "played",
        "plays",
        "features",
        "stars",
        "directed",
        "written",
        "produced",
        "published",
        "served",
    ),
    *("took", "new", "van", "von", "der", "den", "del", "des"),
}
_LONGEST = 4
_SENTENCES_PER_PHRASE = 4
_MOST_PHRASES = 3
_MOST = 5


def key_phrases(units: Sequence[Unit], *, most: int) -> list[str]:
    """The phrases of two to four lower-case words between function words that score highest, best first.

    The score is frequency times number of words; equal scores go to the phrase that comes first.

    Parameters
    ----------
    units:
        The units of a chunk.
    most:
        How many phrases at most.

    Examples
    --------
    >>> unit = Unit(0, 0, "She is a writer of political comics and the author of political comics.", "")
    >>> key_phrases([unit], most=1)
    ['political comics']
    """
    counts: Counter[str] = Counter()
    for unit in units:
        if unit.kind is not BlockKind.CODE:
            counts.update(phrase for match in _ANNOUNCED.finditer(unit.text) if (phrase := _phrase(match[1])))
    return sorted(counts, key=lambda phrase: -counts[phrase] * (1 + phrase.count(" ")))[:most]


def _phrase(words: str) -> str:
    """The phrase that announced words begin with, up to the first function word, or nothing."""
    phrase: list[str] = []
    for word in words.split(" "):
        if word in _BORDERS or len(word) < 3 or (phrase and word.endswith("ed")):
            break
        phrase.append(word)
    while phrase and phrase[-1].endswith(("ed", "ly", "ing")):
        phrase.pop()
    return " ".join(phrase[-_LONGEST:]) if len(phrase) > 1 else ""


def chunk_topics(
    units: Sequence[Unit], mentions: Sequence[Sequence[Found]], title: Title, *, headings: Sequence[str]
) -> tuple[str, ...]:
    """At most five: the title, the deepest headings, then key phrases (one for four sentences, three at most).

    A chunk without title, heading or phrase takes its most frequent name, or else its first words.
    """
    contexts = list(dict.fromkeys([*headings, *(unit.heading for unit in units)]))
    contexts = [heading for heading in contexts if heading and heading != title.full][-3:]
    topics = [title.full] if title.full else []
    topics.extend(contexts)
    budget = min(_MOST_PHRASES, _MOST - len(topics), 1 + len(units) // _SENTENCES_PER_PHRASE)
    topics.extend(key_phrases(units, most=budget))
    if not topics:
        names = Counter(found.name for row in mentions for found in row if found.kind not in ("date", "number"))
        topics = [name for name, _ in names.most_common(1)] or [
            " ".join(unit.text.split()[:4])[:60] for unit in units[:1]
        ]
    return tuple(dict.fromkeys(topics))


def unit_topics(unit: Unit, topics: Sequence[str], title: Title) -> tuple[str, ...]:
    """The topics of one proposition: its heading, or else the title, and what of the chunk's topics its words hold."""
    first = unit.heading or title.full
    lower = unit.text.lower()
    found = [first] if first else []
    found.extend(topic for topic in topics if topic != first and topic.lower() in lower)
    return tuple(found[:_MOST]) or tuple(topics[:1])
