"""A short answer without a model: the span of the evidence that fits the question best, by its kind and the words around it.

This is a simple extractive baseline for exact match and F1, not an answer for users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlgraph.answer.extractive import Expected, expected
from hlgraph.evaluate.metrics.answer_scores import normalised
from hlgraph.extract.wording import objection
from hlgraph.text import STOP_WORDS, content_words, fold, sentences

_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?:,? \d{{4}})?\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
    rf"|\b{_MONTH} \d{{4}}\b|\b(?:1\d|20)\d{{2}}s?\b"
)
_YEAR = re.compile(r"\b(?:1\d|20)\d{2}\b")
_NUMBER = re.compile(r"[$€£]?\b\d[\d.,]*(?<![.,])(?: (?:million|billion|thousand|%))?")
_NAME = re.compile(
    r"[^\W\d_a-zß-öø-ÿ][\w'’.-]*(?:(?: (?:of|the|de|da|von|van|and|for|in))* [^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\.(?= \w))?)*"
)
_FULL_NAME = re.compile(
    r"[^\W\d_a-zß-öø-ÿ][\w'’.-]*(?:(?: (?:de|da|von|van))* [^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\.(?= \w))?)*"
)
_TRADE = re.compile(r"\b(?:is|was|are|were) (?:an?|the) ([^.;(]+)")
_TRADE_END = re.compile(r"\b(?:who|born|from|in|of|for|at|with|known|best|active|that|which)\b")
_BEFORE_PLACE = re.compile(r"\b(?:in|at|near|from|of|to|into|on|outside|around) (?:the )?$")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_POLAR = frozenset(
    ["is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would"]
)
_CHOICES = (
    re.compile(r"[,:?]\s+(?:the )?([^,:?]+?),? or ([^,?]+?)\s*\?*\s*$"),
    re.compile(r"\b(?:[Bb]etween|out of) (?:the )?([^,?]+?) and ([^,?]+?)(?:\s*\?*\s*$|, | (?=who\b|which\b|what\b))"),
)
_EARLY = frozenset(["first", "earlier", "older", "earliest", "oldest", "before"])
_LATE = frozenset(["later", "younger", "latest", "youngest", "newer", "last", "more", "recently", "recent", "after"])
_REACH = 6.0  # number of words between a span and a question word at which that word counts half
_STEM = 5
_TRADES = frozenset(["occupation", "profession", "job", "career"])


class Known(NamedTuple):
    """Entities and facts of the graph that belong to the evidence of one question.

    Attributes
    ----------
    names : names of the entities that the evidence mentions
    facts : subject, predicate and object of the facts that the evidence supports
    """

    names: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str], ...] = ()


class Span(NamedTuple):
    """A short answer, and the sentence that it stands in; both empty without evidence."""

    text: str
    sentence: str


class _Asked(NamedTuple):
    """What a question asks for: the kind, the noun after "which" or "what", and the stems of the question's words."""

    kind: Expected
    is_trade: bool
    noun: str
    words: frozenset[str]
    stems: frozenset[str]


class _Candidate(NamedTuple):
    text: str
    sentence: str
    start: int


def best_span(question: str, texts: Sequence[str], *, known: Known | None = None) -> Span:
    """The span of the requested kind that has the most of the question's words around it.

    Questions that begin with a verb ask for yes or no: the answer is yes if the words give no objection
    (:func:`hlgraph.extract.wording.objection`). Questions that end with two alternatives ask for one of them: if the question
    compares times, the year nearest to each decides, otherwise the words of the question around it. All other questions ask for
    something that they do not name: times are dates or years, numbers are in digits, persons and places are names, anything
    else is a name or an entity of the graph. For an occupation the span is what follows "is a". A question word in the sentence
    of a span counts more the nearer it is, and twice if it begins with a capital. A fact that joins the span to question words
    counts as much as those words. A span with the noun of the question ("which river") counts more.

    Parameters
    ----------
    question : text of the question
    texts : the evidence, the most relevant first
    known : what the graph knows of the evidence; default: nothing

    Returns
    -------
    Span
        The whole first sentence if nothing fits.

    Examples
    --------
    >>> best_span("When was the Halfmoon Bridge opened?", ["It fell in 1953. The bridge was opened in May 1868."]).text
    'May 1868'
    >>> best_span("Who opened the Halfmoon Bridge?", ["The Halfmoon Bridge was opened by Ida Orme."]).text
    'Ida Orme'
    >>> best_span("Which bridge is older, Orne Bridge or Aldane Bridge?", ["Orne Bridge: 1931.", "Aldane Bridge: 1868."]).text
    'Aldane Bridge'
    """
    parts = [text[start:end] for text in texts for start, end in sentences(text)]
    if not parts:
        return Span("", "")
    known = known or Known()
    asked = _asked(question)
    first = next(iter(_WORD.findall(question)), "")
    choice = _choice(question)
    if choice is not None:
        return _chosen(question, choice, parts)
    if fold(first) in _POLAR:
        return Span("no" if objection(question[len(first) :], texts) else "yes", parts[0])
    best: tuple[float, Span] | None = None
    for place, part in enumerate(parts):
        for candidate in _candidates(asked, part, known):
            score = _score(asked, candidate, known) - 0.25 * place
            if best is None or score > best[0]:
                best = score, Span(candidate.text, part)
    return best[1] if best else Span(parts[0], parts[0])


def _asked(question: str) -> _Asked:
    words = [fold(word) for word in _WORD.findall(question)]
    at = next((place for place, word in enumerate(words) if word in ("which", "what")), None)
    noun = ""
    if at is not None:
        noun = next((word for word in words[at + 1 : at + 3] if word not in STOP_WORDS), "")
    content = frozenset(content_words(question))
    return _Asked(expected(question), bool(_TRADES & content), _stem(noun), content, frozenset(map(_stem, content)))


def _stem(word: str) -> str:
    return word[:_STEM]


def _choice(question: str) -> tuple[str, str] | None:
    for pattern in _CHOICES:
        match = pattern.search(question)
        if match is not None:
            one, other = (part.removeprefix("the ").strip(" '\"“”‘’") for part in match.groups())
            if not (one[:1] + other[:1]).islower() and one and other:
                return one, other
    return None


def _chosen(question: str, choice: tuple[str, str], parts: Sequence[str]) -> Span:
    """One of two alternatives: by year if times are compared, otherwise the one whose sentences have more of the question."""
    words = {fold(word) for word in _WORD.findall(question)}
    about = {name: [part for part in parts if _mentions(part, name)] for name in choice}
    years = {name: [int(year) for part in about[name] for year in _YEAR.findall(part)] for name in choice}
    if all(years.values()) and words & (_EARLY | _LATE):
        order = sorted(choice, key=lambda name: years[name][0])
        text = order[-1] if words & _LATE and not words & _EARLY else order[0]
    else:
        stems = set(map(_stem, content_words(question)))
        shared = {name: {_stem(w) for part in about[name] for w in content_words(part)} & stems for name in choice}
        text = max(choice, key=lambda name: len(shared[name]))
    return Span(text, (about[text] or list(parts))[0])


def _mentions(part: str, name: str) -> bool:
    return bool(set(content_words(name))) and set(content_words(name)) <= set(content_words(part))


def _candidates(asked: _Asked, sentence: str, known: Known) -> Iterator[_Candidate]:
    """The spans of the requested kind in one sentence, without those that the question itself names."""
    for text, start in _found(asked, sentence, known):
        words = set(content_words(text)) or (set(normalised(text).split()) if text[:1].isdigit() else set())
        if words and not words <= asked.words:
            yield _Candidate(text, sentence, start)


def _found(asked: _Asked, sentence: str, known: Known) -> Iterator[tuple[str, int]]:
    """The spans of the requested kind in one sentence, with their offsets."""
    if asked.kind is Expected.TIME:
        yield from ((match[0], match.start()) for match in _DATE.finditer(sentence))
        return
    dates = {at for match in _DATE.finditer(sentence) for at in range(*match.span())}
    if asked.kind is Expected.NUMBER:
        yield from ((match[0], match.start()) for match in _NUMBER.finditer(sentence) if match.start() not in dates)
        return
    if asked.is_trade:
        yield from _trades(sentence)
        return
    pattern = _FULL_NAME if asked.kind is Expected.PERSON else _NAME
    for match in pattern.finditer(sentence):
        if match.start() not in dates:
            yield match[0].rstrip(".'’-"), match.start()
    for name in known.names:
        whole = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence) if name in sentence else None
        if whole and (asked.kind is Expected.ANY or name[:1].isupper()):
            yield name, whole.start()


def _trades(sentence: str) -> Iterator[tuple[str, int]]:
    """What follows "is a" for a person: "printer", "journalist" and "poet" of "a Scottish printer, journalist and poet born in"."""
    for match in _TRADE.finditer(sentence):
        for part in re.split(r", | and ", _TRADE_END.split(match[1])[0]):
            words = [word for word in part.split() if word[0].islower()]
            if words:
                yield " ".join(words[-2:]), match.start(1)


def _score(asked: _Asked, candidate: _Candidate, known: Known) -> float:
    own = {_stem(word) for word in content_words(candidate.text)}
    before = len(_WORD.findall(candidate.sentence[: candidate.start]))
    behind = before + len(_WORD.findall(candidate.text))
    nearest: dict[str, float] = {}
    for place, word in enumerate(_WORD.findall(candidate.sentence)):
        stem = _stem(fold(word))
        if before <= place < behind or stem not in asked.stems or stem in own:
            continue
        distance = before - place if place < before else place - behind + 1
        weight = (2.0 if word[0].isupper() else 1.0) / (1 + distance / _REACH)
        nearest[stem] = max(nearest.get(stem, 0.0), weight)
    score = sum(nearest.values()) + _by_facts(asked, candidate.text, known)
    if asked.noun and asked.noun in own:
        score += 2.0
    score -= len(own & asked.stems) * 0.5
    if asked.kind is Expected.PERSON and " " in candidate.text:
        score += 0.5
    if asked.kind is Expected.PLACE and _BEFORE_PLACE.search(candidate.sentence[: candidate.start]):
        score += 1.0
    return score


def _by_facts(asked: _Asked, text: str, known: Known) -> float:
    """The largest number of question words in a fact that has the span as its subject or object."""
    most, folded = 0, normalised(text)
    for subject, predicate, complement in known.facts:
        for own, other in ((subject, complement), (complement, subject)):
            if normalised(own) == folded:
                beside = {_stem(word) for word in content_words(f"{predicate} {other}")}
                most = max(most, len(beside & asked.stems))
    return float(most)
