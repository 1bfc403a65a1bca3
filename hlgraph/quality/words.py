"""Faithfulness by words alone: whether a text supports a statement. A proxy for a judge; pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

from hlgraph.retrieve.evidence.numbers import numbers
from hlgraph.retrieve.evidence.terms import terms
from hlgraph.text import STOP_WORDS, BlockKind, block_sentences, blocks, content_words, words

_LEAST = 2 / 3
"""Share of a statement's content words that its text must contain."""
_STEM = 5  # leading letters that two forms of a word share
_NEGATIONS = frozenset(
    {"not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot", "hardly"}
)
_CLAUSE = re.compile(
    r"[,;:()–—]|\b(?:but|while|although|though|whereas|and|or|who|which|that|because|if)\b", re.IGNORECASE
)
_SPELLED = frozenset({"#0", "#1", "#2"})  # "one of the" names no number
_TOKEN = re.compile(r"[^\W\d_](?:[\w'’-]|\.(?=\w))*")  # with the dots inside "U.S"
_PLACE = re.compile(r"[^\d.]")


class SourceText:
    """The text of a chunk with its title and headings, prepared for checking statements against it.

    Parameters
    ----------
    text : the text of the chunk
    context : title and headings
    """

    def __init__(self, text: str, context: Iterable[str] = ()) -> None:
        self._text = text
        self._context = tuple(context)
        self._all = "\n".join((text, *self._context))

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(terms(self._all).words) | frozenset(words(self._all))

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(word[:_STEM] for word in self._terms if len(word) >= _STEM)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        written = {form for number in numbers(self._all) for form in (number.value, number.text)}
        counted = {term[1:] for term in terms(self._all).numbers}
        return frozenset(_PLACE.sub("", form) for form in written | counted)

    @cached_property
    def _sentences(self) -> list[tuple[str, frozenset[str]]]:
        found = [
            self._text[start:end]
            for block in blocks(self._text)
            if block.kind is not BlockKind.HEADING
            for start, end in block_sentences(self._text, block)
        ]
        return [(text, _meaning(text)) for text in found]

    @cached_property
    def _headings(self) -> frozenset[str]:
        """The words of the title and of all headings, those inside the text included; as written and as terms."""
        inside = (block.title for block in blocks(self._text) if block.kind is BlockKind.HEADING)
        return frozenset(word for text in (*self._context, *inside) for word in (*words(text), *terms(text).words))

    def faults(self, statement: str) -> list[str]:
        """The faults of a statement; an empty list means that it is taken as accurate.

        - ``number``: the text, its title and its headings lack a number of the statement, in any spelling.
        - ``name``: they lack a name: a capitalised word inside the sentence, or its first word if no word of the text begins
          like it.
        - ``words``: they contain fewer than two thirds of its content words. Equal lemmas and equal beginnings count as equal.
        - ``negation``: the statement negates while the sentence that shares most of its words does not, or the reverse.

        A wrong statement in the right words is not detected, and a correct one in quite different words is reported. The check
        shows what to look at; it does not replace a judge. O(length of the text) time.

        Examples
        --------
        >>> text = SourceText("She designed the bridge, which opened in 1931. It was not painted.", ["Mara Quill"])
        >>> text.faults("Mara Quill designed the bridge."), text.faults("The bridge opened in 1913.")
        ([], ['number: 1913'])
        >>> text.faults("Mara Brandt designed the bridge."), text.faults("It was painted.")
        (['name: Brandt'], ['negation: It was not painted.'])
        """
        found = [f"number: {number}" for number in self._missing_numbers(statement)]
        names = self._missing_names(statement)
        found += [f"name: {name}" for name in names]
        missing, share = self._missing_words(statement)
        if share < _LEAST:
            found.append(f"words: {', '.join(missing)}")
        found += [f"negation: {sentence}" for sentence in self._denied(statement)]
        return found

    def _missing_numbers(self, statement: str) -> list[str]:
        written = numbers(statement)
        missing = [
            statement[item.start : item.end]
            for item in written
            if not {_PLACE.sub("", item.value), _PLACE.sub("", item.text)} & self._numbers
        ]
        known = {f"#{item.text}" for item in written} | _SPELLED
        counted = [term for term in terms(statement).numbers if term not in known]
        return missing + [term[1:] for term in counted if _PLACE.sub("", term) not in self._numbers]

    def _missing_names(self, statement: str) -> list[str]:
        tokens = _TOKEN.findall(statement)
        return [
            token
            for number, token in enumerate(tokens)
            if token[0].isupper() and not all(self._has_name(word, is_first=not number) for word in words(token))
        ]

    def _has_name(self, word: str, *, is_first: bool) -> bool:
        # The first word is capitalised in any case, so it counts as a name only if no word of the text begins like it.
        return word in self._terms or word in STOP_WORDS or (is_first and self._has_stem(word))

    def _missing_words(self, statement: str) -> tuple[list[str], float]:
        wanted = sorted(term for term in _meaning(statement) if not term.startswith("#"))
        missing = [term for term in wanted if term not in self._terms and not self._has_stem(term)]
        if missing:  # a name must not be lemmatised: "Cubs" is in the text as written
            written = {term for word in content_words(statement) if word in self._terms for term in terms(word).words}
            missing = [term for term in missing if term not in written]
        return missing, 1 - len(missing) / len(wanted) if wanted else 1.0

    def _has_stem(self, word: str) -> bool:
        return len(word) >= _STEM and word[:_STEM] in self._stems

    def _denied(self, statement: str) -> list[str]:
        """The sentence whose polarity a statement reverses, if any; a leading title or heading is ignored."""
        statement = self._bare(statement)
        wanted = _meaning(statement)
        # A name that replaces a pronoun would otherwise select the sentence that contains the name.
        wanted = (wanted - self._headings) or wanted
        if not wanted or not self._sentences:
            return []
        is_denial = _denies(statement)
        shared = [len(wanted & held) for _, held in self._sentences]
        most = max(shared)
        closest = [text for (text, _), count in zip(self._sentences, shared, strict=True) if count == most]
        if not most or any(self._has_polarity(text, wanted, is_denial=is_denial) for text in closest):
            return []
        return closest[:1]

    def _bare(self, statement: str) -> str:
        """A statement without the title and headings in front of it, which may contain colons themselves."""
        front = 0
        for match in re.finditer(": ", statement):
            if not self._headings.issuperset(words(statement[front : match.end()])):
                break
            front = match.end()
        return statement[front:]

    @staticmethod
    def _has_polarity(sentence: str, wanted: frozenset[str], *, is_denial: bool) -> bool:
        """Whether a sentence has the polarity of a statement, or negates no clause that the statement is about."""
        if is_denial or not _denies(sentence):
            return _denies(sentence) == is_denial
        denied = [_meaning(part) for part in _CLAUSE.split(sentence) if _denies(part)]
        return not any(part and len(part & wanted) >= _LEAST * len(part) for part in denied)


def _meaning(text: str) -> frozenset[str]:
    """The terms of a text without function words and negations."""
    return frozenset(term for term in terms(text).words if term not in STOP_WORDS and term not in _NEGATIONS)


def _denies(text: str) -> bool:
    found = words(text)
    return any(
        (word in _NEGATIONS or word.endswith("n't"))
        # "No. 5" is a number, and "not only" affirms.
        and not (word == "no" and following[:1].isdigit())
        and not (word == "not" and following == "only")
        for word, following in pairwise([*found, ""])
    )
