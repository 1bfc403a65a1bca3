"""The topics of a chunk: its title, its headings, and the names and phrases that its sentences share.

:func:`read_title` gives the names of a title, :func:`occurrences` where a sentence names it, :func:`key_phrases` the phrases.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hlgraph.extract.local._lexicon import ORDINARY, PHRASE_BORDERS
from hlgraph.extract.local._units import MentionSpan, Unit
from hlgraph.text import BlockKind

_DISAMBIGUATION = re.compile(r"\s*[(（]([^()（）]*)[)）]$")
_FILE = re.compile(r"[_/\\]|\.\w{2,5}$|^https?:")
_QUESTION = re.compile(r"(?:how|why|what|when|where|who|which)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(?:is|are|was|were|has|have|will|can|says|gets|unveils|could|should|may|might|but)\b")
_COUNTING = re.compile(
    r"(?:how to|untitled|page|part|chapter|top \d+)\b|\d+\+?\s(?:ways|things|best|of)\b", re.IGNORECASE
)
_ARTICLE = re.compile(r"(?:the|a|an)\s+(?=\S{3})", re.IGNORECASE)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9&.-]{1,9}")
_CAPITAL = re.compile(r"(?<![^\W_])[^\W\d_a-z]")
# And Hangul, whose particles are attached.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u9fff\uac00-\ud7af]")
_LETTER = re.compile(r"[^\W\d_]")
_INNER = re.compile(r" (?:of|for|to|from|by|with|about|on) (?=(?:the |an? |our |your )?[a-z])")
_LONGEST_TITLE = 120


class Title(NamedTuple):
    """A title and its names.

    Attributes
    ----------
    full : the title
    bare : the title without its disambiguation in parentheses; the name that statements mention
    aliases : other names of the entity (the full title, the acronym in parentheses, the bare name without its article); one
        statement per chunk mentions them, which links them to the bare name in the graph
    forms : spellings that name it in any text
    head : the bare name before its comma ("Helena" of "Helena, Alabama"), which names it in its own document only; or empty
    is_name : whether it is short and written like a name
    """

    full: str
    bare: str
    aliases: tuple[str, ...]
    forms: tuple[str, ...]
    head: str
    is_name: bool

    @property
    def nouns(self) -> tuple[str, str]:
        """The head nouns of the bare title, and of its disambiguation before a comma."""
        return head_noun(self.bare), head_noun(self.full[len(self.bare) :].strip(" ()").partition(",")[0])


def head_noun(title: str) -> str:
    """The noun in lower case that says what a title is: "minutes" of "Minutes of the school board".

    Parameters
    ----------
    title : a title, or what it is described as
    """
    inner = _INNER.search(title)
    return title[: inner.start() if inner else None].rsplit(" ", 1)[-1].lower()


def read_title(title: str) -> Title:
    """The names of a title; beyond 120 characters it is shortened.

    Examples
    --------
    >>> read_title("The Beach (film)")[:3]
    ('The Beach (film)', 'The Beach', ('The Beach (film)', 'Beach'))
    >>> read_title("How to install a printer").is_name
    False
    """
    full = " ".join((html.unescape(title) if "&" in title else title).split())
    if len(full) > _LONGEST_TITLE:
        full = full[:_LONGEST_TITLE].rsplit(" ", 1)[0] + " …"
    match = _DISAMBIGUATION.search(full)
    bare = full[: match.start()] if match and match.start() else full
    aliases = [full] if bare != full else []
    forms = [full, bare] if bare != full else [bare]
    if match and is_acronym(match[1], bare):
        aliases = [match[1]]
        forms.append(match[1])
    article = _ARTICLE.match(bare)
    rest = bare[article.end() :] if article else ""
    if rest[:1].isupper():
        aliases.append(rest)
        if rest.lower() not in ORDINARY:
            forms.append(rest)
    head = bare.partition(",")[0]
    is_head = head != bare and head[:1].isupper() and len(head) > 2 and head.lower() not in ORDINARY
    known = tuple(form for form in forms if form)
    is_name = _is_name(bare)
    return Title(full, bare, tuple(aliases) if is_name else (), known, head if is_head else "", is_name)


def is_acronym(short: str, full: str) -> bool:
    """Whether ``short`` is made of the initials of the capitalised words of a name, or of the last of these words.

    Parameters
    ----------
    short : the candidate
    full : the name

    Returns
    -------
    bool
        False also if ``short`` has fewer than two letters.

    Examples
    --------
    >>> is_acronym("WHO", "World Health Organization"), is_acronym("UK", "Big Brother")
    (True, False)
    """
    if not _ACRONYM.fullmatch(short):
        return False
    initials = "".join(_CAPITAL.findall(full))
    letters = "".join(character for character in short if character.isalpha())
    return len(letters) > 1 and initials.endswith(letters)


def _is_name(bare: str) -> bool:
    parts = bare.split()
    if not 0 < len(parts) <= 8 or len(bare) > 80 or bare[-1] in "?？。…:" or not _LETTER.search(bare):
        return False
    if _FILE.search(bare) or _COUNTING.match(bare) or (len(parts) == 1 and bare.lower() in ORDINARY):
        return False
    long_words = [part for part in parts[1:] if len(part) > 3]
    is_sentence = 2 * sum(part.islower() for part in long_words) > len(long_words)
    return not (is_sentence and _QUESTION.match(bare)) and not (len(parts) > 4 and _CLAUSE.search(bare))


def occurrences(text: str, title: Title) -> list[MentionSpan]:
    """Where a sentence names the title, in order, without overlaps. Only forms of several words ignore case.

    Parameters
    ----------
    text : the sentence
    title : the title

    Returns
    -------
    list
        The occurrences, each with the bare title as its name.
    """
    spans: list[tuple[int, int]] = []
    lower = text.lower()
    for form in (*title.forms, title.head) if title.head else title.forms:
        is_loose = " " in form and len(lower) == len(text)
        where, what = (lower, form.lower()) if is_loose else (text, form)
        start = where.find(what)
        while start >= 0:
            end = start + len(what)
            if _is_whole(text, start, end):
                spans.append((start, end))
            start = where.find(what, end)
    distinct: list[MentionSpan] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not distinct or start >= distinct[-1].end:
            distinct.append(MentionSpan(start, end, title.bare, ""))
    return distinct


def is_named(text: str, title: Title) -> bool:
    """Whether a sentence names the title unambiguously: "Helena" alone does not name "Helena, Alabama".

    Parameters
    ----------
    text : the sentence
    title : the title

    Returns
    -------
    bool
        Whether the sentence holds a form of the title other than its ``head``.
    """
    return any(text[occurrence.start : occurrence.end] != title.head for occurrence in occurrences(text, title))


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a match has word boundaries at both ends, in scripts that write spaces."""
    for outside, inside in ((start - 1, start), (end, end - 1)):
        edge = text[outside] + text[inside] if 0 <= outside < len(text) else ""
        if edge.isalnum() and not _UNSPACED.search(edge):
            return False
    return True


_WORD = r"[^\W\d_A-Z]++(?:-[^\W\d_A-Z]++)*+"
# A noun phrase is accepted only after a function word, which excludes most verbs. Whether that is a whole word is checked
# afterwards, because a pattern that begins with plain characters is much faster.
_ANNOUNCED = re.compile(
    r"(?:an?|the|of|as|his|her|its|their|for|with|and|in|by|into|from|about|on|to|The|An?) "
    rf"(?=({_WORD}(?: {_WORD}){{1,6}}+))"
)
_IN_WORD = re.compile(r"\w")
_LONGEST = 4
_UNITS_PER_TOPIC = 3
_MOST = 5


def key_phrases(units: Sequence[Unit]) -> Counter[str]:
    """The phrases of two to four lower-case words between function words, with the number of units that have them.

    Examples
    --------
    >>> key_phrases([Unit(0, 0, "She is a writer of political comics and the author of political comics.", "")])
    Counter({'political comics': 1})
    """
    counts: Counter[str] = Counter()
    for unit in units:
        if unit.kind is not BlockKind.CODE:
            text = unit.text
            announced = _ANNOUNCED.finditer(text)
            whole = (match for match in announced if not match.start() or not _IN_WORD.match(text, match.start() - 1))
            phrases = [_phrase(match[1]) for match in whole]
            counts.update(list(dict.fromkeys(filter(None, phrases))))
    return counts


def _phrase(words: str) -> str:
    """The phrase at the beginning of some words, up to the first function word; empty if it has fewer than two words."""
    phrase: list[str] = []
    for word in words.split(" "):
        if word in PHRASE_BORDERS or len(word) < 3 or (phrase and word.endswith("ed")):
            break
        phrase.append(word)
    while phrase and phrase[-1].endswith(("ed", "ly", "ing")):
        phrase.pop()
    return " ".join(phrase[-_LONGEST:]) if len(phrase) > 1 else ""


def chunk_topics(
    units: Sequence[Unit], mentions: Sequence[Sequence[MentionSpan]], title: Title, *, headings: Sequence[str]
) -> tuple[str, ...]:
    """Topics of a chunk, normally at most five: the title, the deepest headings, then what several of its units share.

    That is a name that two units mention or a phrase that two units have, the most frequent first, at most one for every
    three units. A name is spelled alike in all chunks of a source, so the chunks about it have one topic, and an edit
    changes the topics of its own chunk only. A chunk without any of them gets its best phrase, else its most frequent name,
    else its first words.

    Parameters
    ----------
    units : units of the chunk
    mentions : mentions of each unit
    title : the title of the document
    headings : headings above the chunk, outermost first

    Returns
    -------
    tuple
        Distinct topics.
    """
    contexts = list(dict.fromkeys([*headings, *(unit.heading for unit in units)]))
    contexts = [heading for heading in contexts if heading and heading != title.full][-3:]
    topics = [title.full] if title.full else []
    topics.extend(contexts)
    names = Counter(name for row in mentions for name in _names(row, title))
    phrases = key_phrases(units)
    shared = [topic for topic, count in (names + phrases).most_common() if count > 1]
    topics.extend(shared[: min(_MOST - len(topics), 1 + len(units) // _UNITS_PER_TOPIC)])
    if not topics:
        best = sorted(phrases, key=lambda phrase: -phrase.count(" "))[:1] or [name for name, _ in names.most_common(1)]
        topics = best or [" ".join(unit.text.split()[:4])[:60] for unit in units[:1]]
    return tuple(dict.fromkeys(topics))


def _names(mentions: Sequence[MentionSpan], title: Title) -> Iterable[str]:
    """The distinct names of a unit except the title."""
    return dict.fromkeys(
        mention.name for mention in mentions if mention.kind not in ("date", "number") and mention.name != title.bare
    )


def unit_topics(unit: Unit, topics: Sequence[str], title: Title, *, mentions: Sequence[MentionSpan]) -> tuple[str, ...]:
    """Topics of one proposition: its heading, else the title, then the topics of the chunk that it mentions or contains.

    Parameters
    ----------
    unit : the unit of the proposition
    topics : topics of the chunk
    title : the title of the document
    mentions : mentions of the unit

    Returns
    -------
    tuple
        At most five topics.
    """
    first = unit.heading or title.full
    lower = unit.text.lower()
    names = {mention.name for mention in mentions}
    chosen = [first] if first else []
    chosen.extend(topic for topic in topics if topic != first and (topic in names or topic.lower() in lower))
    return tuple(chosen[:_MOST]) or tuple(topics[:1])
