"""Find the keywords and metadata values that a question names, and classify the question.

:func:`names_in` finds possible entity names in the words of a question. :func:`ask_keywords` asks a chat model for them (HLG,
Eq. 1). :func:`named` and :func:`matches` find the metadata values that the question names. :func:`comparison`, :func:`chain`
and :func:`broad` classify it with fixed lists of English words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import NamedTuple

from hlgraph.extract.wording import MONTHS
from hlgraph.ids import normalise_name
from hlgraph.models.prompts import delimited
from hlgraph.models.protocols import ChatModel
from hlgraph.records import Metadata, MetadataValue
from hlgraph.retrieve.question.reply_parsing import ask, without_thoughts
from hlgraph.retrieve.question.subqueries import names
from hlgraph.text import STOP_WORDS

MOST_OF_A_KIND = 10
_LONGEST = 6  # words in a run, unless it is capitalised or quoted
_LONGEST_RUN = 12
_MOST = 400
_LONGEST_NAME = 120  # characters in a keyword; a longer term from a model is a sentence
_WORD = re.compile(r"\w(?:[\w'’.&/+-]*\w)?")
_QUOTED = re.compile(r"[\"“„«](?P<inside>[^\"“”„«»]{2,100})[\"”“»]")
_POSSESSIVE = re.compile(r"['’]s?$")
_PART = re.compile(r"(?im)^[\s*#>-]*(?P<name>keywords?|synonyms?)\W*?:[\s*]*")
_DIVIDER = re.compile(r"[\^\n;|]")
_BULLET = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.)])\s+")
_AROUND = " \t\r*_`'\"[]{}.,:"


class Keyword(NamedTuple):
    """A name to look up.

    Attributes
    ----------
    text : the name
    start, end : character offsets in the question; both 0 for a keyword from a model
    """

    text: str
    start: int = 0
    end: int = 0


def names_in(question: str) -> list[Keyword]:
    """Find possible names in a question: runs of up to six words, or up to twelve if capitalised or quoted.

    A run begins and ends with a content word or a capitalised word. It has at least one content word, or at least two
    capitalised function words. Each run is also returned without a possessive ending, and with a following full stop, which may
    belong to the name. At most 400 names are returned. Those with capitals come first, and shorter ones before longer ones.
    A lookup decides which runs are names; see :func:`longest`.

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
    orders: dict[Keyword, tuple[bool, int, int]] = {}
    for place, first in enumerate(edges):
        for last in edges[place : place + _LONGEST_RUN]:
            count = last - first + 1
            start, end = words[first].start(), words[last].end()
            are_capitals = all(capital[first : last + 1])
            is_quoted = any(a <= start and end <= b for a, b in quoted)
            # "The Who": several capitalised function words may be a name, but a single one usually begins a question.
            is_name = not all(small[first : last + 1]) or (are_capitals and count > 1)
            if is_name and (count <= _LONGEST or (count <= _LONGEST_RUN and (are_capitals or is_quoted))):
                order = (not any(capital[first : last + 1]), count, start)
                for stop in _ends(question, start, end):
                    orders.setdefault(Keyword(question[start:stop], start, stop), order)
    return sorted(orders, key=lambda keyword: (orders[keyword], keyword.end))[:_MOST]


def _is_capital(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit()


def _ends(question: str, start: int, end: int) -> Iterable[int]:
    """Yield the possible ends of a name: after its last word, before its possessive ending, after a full stop."""
    yield end
    if possessive := _POSSESSIVE.search(question, start, end):
        yield possessive.start()
    if question[end : end + 1] == ".":
        yield end + 1


def longest(keywords: Iterable[Keyword]) -> list[Keyword]:
    """Return the keywords that are not inside a longer one, in the order of the question.

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
    """Ask a chat model for keywords and synonyms, at most ten of each. The list is empty if the reply has none.

    Parameters
    ----------
    question : the question
    model : the chat model

    Returns
    -------
    list of Keyword

    Raises
    ------
    ModelUnavailableError, ModelAccessError, ModelAnswerError : raised by the model

    References
    ----------
    HLG, section 4.1, step 1 (Eq. 1).
    """
    reply = ask(model, "keywords", values={"question": delimited("question", question)})
    return [Keyword(text) for text in parse_keywords(reply)]


def parse_keywords(reply: str) -> list[str]:
    """Parse the distinct terms of a reply, without bullets and quotation marks.

    Terms are separated by ``^``, ``;``, ``|`` or line breaks. In a part of one or two lines without any of these characters,
    commas separate them too. Without the labels ``keywords:`` and ``synonyms:``, the whole reply counts as keywords.

    Examples
    --------
    >>> parse_keywords("keywords: Aldane Bridge^Mara Quill\\nsynonyms: The Aldane")
    ['Aldane Bridge', 'Mara Quill', 'The Aldane']
    """
    text = without_thoughts(reply).replace("```", "\n")
    labels = list(_PART.finditer(text))
    parts = {"keyword": "" if labels else text, "synonym": ""}
    for label, following in zip_longest(labels, labels[1:]):
        name = label["name"].lower().rstrip("s")
        parts[name] += "\n" + text[label.end() : following.start() if following else len(text)]
    terms: dict[str, str] = {}
    for part in parts.values():
        of_part = dict.fromkeys(term for term in _terms(part) if normalise_name(term) not in terms)
        terms |= {normalise_name(term): term for term in list(of_part)[:MOST_OF_A_KIND]}
    return list(terms.values())


def _terms(part: str) -> Iterable[str]:
    divider = _DIVIDER if re.search(r"[\^;|]|\n.*\S.*\n.*\S", part.strip()) else re.compile(r"[,\n]")
    for piece in divider.split(part):
        term = _BULLET.sub("", piece).strip(_AROUND)
        if term and len(term) <= _LONGEST_NAME and normalise_name(term) not in ("", "none"):
            yield term


# Metadata values that a question names: a publisher, an author, a date.

_NUMBER = {name: number for number, month in enumerate(MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBER, key=len, reverse=True))})\.?"
_DATES = (
    re.compile(rf"\b{_MONTH}\s+(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+))?(?P<year>\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(?P<year>\d{{4}})\b", re.IGNORECASE),
)
_ISO = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")
_IS_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_LONGEST_FIELD = 100  # a longer value is prose, not a name
_LEADING = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


class Named(NamedTuple):
    """A question, prepared for comparison with the metadata of sources.

    Attributes
    ----------
    question : text of the question, with whitespace collapsed to single spaces
    dates : ISO dates, such as ``2023-10-06``, or months, such as ``2023-10``
    """

    question: str
    dates: tuple[str, ...]

    def matches(self, metadata: Metadata) -> tuple[str, ...]:
        """Return the fields of a source whose values the question names, sorted.

        The question names a text value if it contains the value as whole words, in the same case. The value must begin with a
        capital letter, or with a digit if it is not a plain number. A leading article is ignored. The question names a value
        that begins with an ISO date if it names that day or month.

        Examples
        --------
        >>> named("What did The Courier print on May 3, 1931?").matches(
        ...     {"publisher": "Courier", "published": "1931-05-03T08:00:00", "kind": "print"}
        ... )
        ('published', 'publisher')
        """
        return tuple(sorted(field for field, value in metadata.items() if any(map(self._has, _texts(value)))))

    def _has(self, value: str) -> bool:
        if _IS_DATE.match(value):
            return any(value.startswith(date) for date in self.dates)
        text = _LEADING.sub("", " ".join(value.split()))
        if not 2 <= len(text) <= _LONGEST_FIELD or not (
            text[0].isupper() or (text[0].isdigit() and not text.isdigit())
        ):
            return False
        return text in self.question and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.question) is not None


def named(question: str) -> Named:
    """Prepare a question for comparison with the metadata of sources.

    Dates are recognised in ISO format and with English month names. A year alone is ignored, because it is too common.

    Examples
    --------
    >>> named("What changed between October 6, 2023 and 7 Nov 2023?").dates
    ('2023-10-06', '2023-11-07')
    """
    text = " ".join(question.split())
    dates = {match[0] for match in _ISO.finditer(text)}
    for match in (match for pattern in _DATES for match in pattern.finditer(text)):
        month = f"{match['year']}-{_NUMBER[match['month'].lower()]:02}"
        dates.add(f"{month}-{int(match['day']):02}" if match["day"] else month)
    # Drop a month if the question names one of its days.
    return Named(
        text, tuple(sorted(date for date in dates if not any(o != date and o.startswith(date) for o in dates)))
    )


def is_date(value: MetadataValue) -> bool:
    """Return whether a value, or any item of a list, begins with an ISO date."""
    return any(_IS_DATE.match(text) for text in _texts(value))


def _texts(value: MetadataValue) -> Iterable[str]:
    values = value if isinstance(value, tuple | list) else (value,)
    return (text for text in values if isinstance(text, str))


def matches(question: str, metadata: Mapping[str, Metadata]) -> dict[str, tuple[str, ...]]:
    """Find the metadata fields that a question names, for each source that has any.

    Parameters
    ----------
    question : the question
    metadata : metadata of each source, by source key

    Returns
    -------
    dict
        Field names by source key.
    """
    wanted = named(question)
    fields_of = {key: wanted.matches(fields) for key, fields in metadata.items()}
    return {key: fields for key, fields in fields_of.items() if fields}


# Classes of questions, by fixed lists of English words. A question in another language matches none of them, so only its names
# and a first search decide.

_COMPARISON = re.compile(
    r"\b(?:older|younger|oldest|youngest|taller|tallest|longer|shorter|larger|bigger|smaller|higher|lower|heavier|faster"
    r"|earlier|later|sooner|newer|both|either|neither|same|similar|compared?|compares|comparison|than|versus|vs"
    r"|differs?|differ(?:ent|ence|ences)|in common|more|fewer|less)\b|\bbetween\b(?=.*\band\b)|\bfirst\b(?=.*,.*\bor\b)",
    re.IGNORECASE,
)
_PERSON = (
    "father mother parents husband wife spouse son daughter child children brother sister sibling uncle aunt nephew niece "
    "grandfather grandmother grandparents director author writer composer performer singer founder creator producer "
    "designer architect owner publisher employer president mayor coach manufacturer screenwriter inventor discoverer"
)
_RELATION = "|".join(_PERSON.split()) + r"|(?:step|half-|great-|grand|paternal |maternal )?(?:\w+-in-law|grand\w+)"
# One entity is described through another: "the father of the director of", "X's mother", "the city in which ...".
_CHAIN = re.compile(
    rf"['’]s?\s+(?:[a-z-]+\s+){{0,2}}(?:{_RELATION})\b"
    rf"|\b(?:the|a|an|his|her|whose)\s+(?:[\w-]+\s+){{0,2}}?(?:{_RELATION})\s+(?:of|for|who|whose|that|to)\b"
    r"|\b(?:of|by|in|for|from|to|with|at|on|under|where|when|is|was|did|does|which|what)\s+(?:the|a|an)\s+"
    r"(?:[\w'’-]+\s+){1,5}?(?:who|whom|whose|that|which|where)\b"
    r"|\b(?:in|of|from|by|for|to|at|on)\s+which\b|\bwhose\b",
    re.IGNORECASE,
)
_MANY = (
    "themes? topics trends? patterns? factors? challenges? issues disputes? debates? implications? consequences developments? "
    "lessons? approaches strategies perspectives? arguments? differences similarities principles? ideas? findings points "
    "subjects aspects kinds types forms causes effects reasons ways methods benefits risks drivers opinions views"
)
_THINGS = "|".join(word.replace("?", "s?") if word.endswith("?") else word for word in _MANY.split())
_BROAD = re.compile(
    r"\b(?:main|major|key|central|overall|common|general|typical|recurring|prevailing|principal|important|various|broader)"
    rf"\s+(?:[\w-]+\s+){{0,2}}?(?:{_THINGS})\b"
    r"|\b(?:overview|summari[sz]e|summary of|in general|as a whole|all about|big picture|taken together|overall)\b"
    r"|\bacross\s+(?:the|all|these|different|various)\b"
    rf"|\b(?:what|which)\s+(?:{_THINGS})\b"
    r"|\b(?:how|in what ways)\s+(?:do|does|did|have|has|can|could|might)\b.*\b(?:influenced?|affect(?:ed)?|changed?|shaped?"
    r"|impact(?:ed)?|contributed?|relate[ds]?|evolved?|differ(?:ed)?|interact(?:ed)?|depend(?:ed)?|transform(?:ed)?|vary"
    r"|varied)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^\W*(?:please\s+)?(?:give|describe|explain|list|compare|discuss|summari[sz]e|outline|name|tell|show)\b",
    re.IGNORECASE,
)


def comparison(question: str) -> str:
    """Return the word that marks a comparison, or an empty string if the question compares nothing.

    Examples
    --------
    >>> comparison("Who is older, Mara Quill or Ivo Brandt?")
    'older'
    >>> comparison("Who designed the Aldane Bridge?")
    ''
    """
    match = _COMPARISON.search(question)
    return match[0] if match else ""


def chain(question: str) -> str:
    """Return the words that describe one entity through another, or an empty string if there are none.

    Examples
    --------
    >>> chain("Where was the designer of the Aldane Bridge born?")
    'the designer of'
    >>> chain("In what city was Mara Quill born?")
    ''
    """
    match = _CHAIN.search(question)
    return " ".join(match[0].split()) if match else ""


def broad(question: str) -> str:
    """Return the words that ask about the whole corpus, or an empty string if there are none or the question has a name.

    Examples
    --------
    >>> broad("What are the main disputes about the bridges?")
    'main disputes'
    >>> broad("What are the main disputes about the Aldane Bridge?")
    ''
    """
    match = _BROAD.search(question)
    # A leading "Summarise" is capitalised, but it is not a name.
    return " ".join(match[0].split()) if match and not names(_ASKING.sub("", question)) else ""
