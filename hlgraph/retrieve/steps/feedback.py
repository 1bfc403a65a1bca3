"""The steps that ToPG gives to a chat model, each in two implementations: by a model, and by rules.

Select decides which suggestions are kept, Eval whether they are enough, NextQ what to ask next.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from hlgraph.algorithms import check
from hlgraph.models.prompts import delimited
from hlgraph.records import Hit, Scalar
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.question.reply_parsing import ChatDecider, Decider, lines_in, numbered, numbers_in, says_yes
from hlgraph.retrieve.question.subqueries import names
from hlgraph.retrieve.retriever import By, chat_of
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.suggest import Suggestion, texts_of
from hlgraph.text import cached_by_text, content_words

MOST_QUESTIONS = 3
"""Maximum number of questions to ask next."""


class Selector(Decider):
    """Select of ToPG, Eq. 2: decides which suggestions are kept.

    Attributes
    ----------
    is_trusted : whether kept suggestions rank before everything else; if not, only scores order the ranking
    """

    is_trusted: bool = False

    @abstractmethod
    def select(self, question: str, suggestions: Sequence[Suggestion], *, collected: Sequence[str]) -> list[str]:
        """The ids of the suggestions to keep.

        Parameters
        ----------
        question : text of the question
        suggestions : what to choose from, in any order
        collected : texts that were kept before

        Returns
        -------
        list
            Each one is the id of a suggestion.
        """


class Judge(Decider):
    """Eval of ToPG: decides whether the collected statements are enough."""

    @abstractmethod
    def is_enough(self, question: str, collected: Sequence[str]) -> bool:
        """Whether these texts answer the question; True ends the search.

        Parameters
        ----------
        question : text of the question
        collected : texts of the collected statements
        """


class Asker(Decider):
    """NextQ of ToPG: finds what to ask next."""

    @abstractmethod
    def ask(self, question: str, collected: Sequence[str]) -> tuple[str, ...]:
        """Questions that these texts leave open; empty if no question is open.

        Parameters
        ----------
        question : text of the question
        collected : texts of the collected statements
        """


@dataclass(frozen=True, slots=True)
class ScoreSelector(Selector):
    """Select without a model: keeps the suggestions whose score is close to the best and that say something new.

    Suggestions are considered best first. A suggestion is kept if its score is at least ``margin`` times the best score, and no
    single collected or kept statement contains four fifths of its content words.

    Attributes
    ----------
    keep : maximum number of suggestions to keep (default 3: a walk from few good seeds finds more than one from many)
    margin : from 0 (no bound) to 1 (default 0.5)

    Examples
    --------
    >>> suggestions = [
    ...     Suggestion("a", "Mara Quill drew it.", 0.9), Suggestion("b", "It was Mara Quill who drew it.", 0.8),
    ...     Suggestion("c", "Quill was born in Tessing.", 0.7), Suggestion("d", "Orne is a river.", 0.2),
    ... ]
    >>> ScoreSelector().select("Who?", suggestions, collected=[])
    ['a', 'c']
    """

    keep: int = 3
    margin: float = 0.5
    fingerprint: str = "score/1"

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.at_least(1, keep=self.keep)
        check.probability("margin", self.margin)

    def select(self, question: str, suggestions: Sequence[Suggestion], *, collected: Sequence[str]) -> list[str]:  # noqa: ARG002
        """See :class:`Selector`."""
        order = sorted(suggestions, key=lambda suggestion: (-suggestion.score, suggestion.id))
        texts = _indexed(tuple(collected))
        new: list[frozenset[str]] = []
        kept: list[str] = []
        for suggestion in order:
            if len(kept) == self.keep or suggestion.score < self.margin * order[0].score:
                break
            said = _words(suggestion.text)
            least = math.ceil(_SAME * len(said))
            if said and not any(len(said & words) >= least for words in (*new, *texts.similar(said, least))):
                kept.append(suggestion.id)
                new.append(said)
        return kept


_SAME = 0.8


class _Texts(NamedTuple):
    """The content words of texts, and for each word the texts that have it."""

    words: list[frozenset[str]]
    having: dict[str, list[int]]

    def similar(self, said: frozenset[str], least: int) -> list[frozenset[str]]:
        """The words of the texts that may have ``least`` of some words: such a text has one of the rarest."""
        rarest = sorted((self.having.get(word, []) for word in said), key=len)[: len(said) - least + 1]
        return [self.words[at] for at in set(chain.from_iterable(rarest))]


@cached_by_text(4)  # one collection is compared with the suggestions of every part of a cycle
def _indexed(texts: tuple[str, ...]) -> _Texts:
    indexed = _Texts([_words(text) for text in texts], {})
    for at, words in enumerate(indexed.words):
        for word in words:
            indexed.having.setdefault(word, []).append(at)
    return indexed


@cached_by_text(2_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


@dataclass(frozen=True, slots=True)
class CoverageJudge(Judge):
    """Eval without a model: enough when the collected statements have a given share of the question's content words.

    Attributes
    ----------
    share : minimum share of the distinct content words, from 0 to 1 (default 1: all)

    Examples
    --------
    >>> CoverageJudge().is_enough("Who drew the Aldane Bridge?", ["Quill drew it.", "The Aldane Bridge is old."])
    True
    """

    share: float = 1.0
    fingerprint: str = "coverage/1"

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.probability("share", self.share)

    def is_enough(self, question: str, collected: Sequence[str]) -> bool:
        """See :class:`Judge`."""
        wanted = set(content_words(question))
        open_words = set(uncovered(question, collected))
        return len(wanted) - len(open_words) >= self.share * len(wanted)


@dataclass(frozen=True, slots=True)
class UncoveredAsker(Asker):
    """NextQ without a model: the names of the question that have an uncovered word, then all its uncovered words together.

    Examples
    --------
    >>> UncoveredAsker().ask("Who drew the bridge at Tessing Falls in winter?", ["Quill drew the bridge."])
    ('Tessing Falls', 'tessing falls winter')
    """

    fingerprint: str = "uncovered/1"

    def ask(self, question: str, collected: Sequence[str]) -> tuple[str, ...]:
        """See :class:`Asker`."""
        missing = uncovered(question, collected)
        if not missing:
            return ()
        named = [name for name in names(question) if set(content_words(name)) & set(missing)]
        return tuple(dict.fromkeys([*named[: MOST_QUESTIONS - 1], " ".join(missing)]))


def uncovered(question: str, texts: Sequence[str]) -> list[str]:
    """The content words of a question that none of the texts has.

    Parameters
    ----------
    question : text of the question
    texts : texts of the collected statements

    Returns
    -------
    list
        In the order of the question, each once.
    """
    covered = {word for text in texts for word in content_words(text)}
    return [word for word in dict.fromkeys(content_words(question)) if word not in covered]


_MOST_KEPT = 100


class ChatSelector(ChatDecider, Selector):
    """Select by a chat model, in one call for each question and cycle.

    The model is shown the 100 statements that were kept last, so that it does not repeat them. If a reply names no number and
    does not say NONE, the rules of :class:`ScoreSelector` decide, and this is reported to ``tell``.
    """

    prompt = "select"
    is_trusted = True

    def select(self, question: str, suggestions: Sequence[Suggestion], *, collected: Sequence[str]) -> list[str]:
        """See :class:`Selector`."""
        if not suggestions:
            return []
        values = {
            "kept": numbered(collected[-_MOST_KEPT:], "kept") or "nothing",
            "statements": numbered([suggestion.text for suggestion in suggestions]),
            "question": delimited("question", question),
        }
        most = len(suggestions)
        reply = self.reply(values, accept=lambda said: numbers_in(said, most) is not None)
        numbers = numbers_in(reply, most)
        if numbers is None:
            self.tell("select: the reply names no statement, so rules selected")
            return ScoreSelector().select(question, suggestions, collected=collected)
        return [suggestions[number - 1].id for number in numbers]


class ChatJudge(ChatDecider, Judge):
    """Eval by a chat model; a reply without a yes or no counts as no and is reported to ``tell``."""

    prompt = "enough"

    def is_enough(self, question: str, collected: Sequence[str]) -> bool:
        """See :class:`Judge`."""
        if not collected:
            return False
        values = {"statements": numbered(collected), "question": delimited("question", question)}
        verdict = says_yes(self.reply(values, accept=lambda said: says_yes(said) is not None))
        if verdict is None:
            self.tell("enough: the reply says neither yes nor no, so the search went on")
        return bool(verdict)


class ChatAsker(ChatDecider, Asker):
    """NextQ by a chat model; without a usable line in the reply, it repeats the question itself and reports this to ``tell``."""

    prompt = "next_questions"

    def ask(self, question: str, collected: Sequence[str]) -> tuple[str, ...]:
        """See :class:`Asker`."""
        values = {"statements": numbered(collected) or "none yet", "question": delimited("question", question)}
        questions = lines_in(self.reply(values), MOST_QUESTIONS)
        if not questions:
            self.tell("next_questions: the reply has no question, so the question itself was asked again")
        return questions or (question,)


class Feedback(NamedTuple):
    """An implementation of each of the three steps."""

    selector: Selector
    judge: Judge
    asker: Asker


def feedback(
    session: Session,
    by: By,
    *,
    selector: Selector | None = None,
    judge: Judge | None = None,
    asker: Asker | None = None,
) -> Feedback:
    """The implementations of the three steps that ``by`` names.

    Parameters
    ----------
    session : its chat model is used
    by : ``rules`` or ``chat``
    selector, judge, asker : used instead of the implementations that ``by`` names

    Returns
    -------
    Feedback
        The three steps.

    Raises
    ------
    InputError : ``by`` is ``chat`` and no chat model is configured
    """
    if by == "chat":
        model, tell = chat_of(session), session.fall_back
        return Feedback(
            selector or ChatSelector(model, tell=tell),
            judge or ChatJudge(model, tell=tell),
            asker or ChatAsker(model, tell=tell),
        )
    return Feedback(selector or ScoreSelector(), judge or CoverageJudge(), asker or UncoveredAsker())


class Collection:
    """The statements that a strategy collects in one search.

    Parameters
    ----------
    session : of the search
    selector : decides which suggestions are kept

    Attributes
    ----------
    naive : results of the first search, best first
    kept : statements that were kept, with their cycle, 0 for the first
    """

    def __init__(self, session: Session, selector: Selector) -> None:
        self.session = session
        self.selector = selector
        self.naive: list[str] = []
        self.kept: dict[str, int] = {}
        self._texts: list[str] = []

    def keep(self, ids: Iterable[str], *, cycle: int) -> None:
        """Add the statements that a cycle kept.

        Parameters
        ----------
        ids : of the statements
        cycle : its number, 0 for the first search
        """
        for item in ids:
            self.kept.setdefault(item, cycle)
        texts = texts_of(self.session, list(self.kept))
        self._texts = [texts[item] for item in self.kept if item in texts]

    def texts(self) -> list[str]:
        """The texts of the collected statements, in their order."""
        return list(self._texts)

    def select(
        self,
        question: str,
        suggested: Sequence[Suggestion],
        *,
        cycle: int,
        name: str,
        details: Mapping[str, Scalar] = {},
    ) -> dict[str, None]:
        """Select, Eq. 2; an id that was not suggested is not kept.

        Parameters
        ----------
        question : text of the question
        suggested : what to choose from
        cycle : number of the cycle, 0 for the first search
        name : of the step, for the explanation
        details : of the step, besides the selector and the number of suggestions

        Returns
        -------
        dict
            The ids of the kept statements, in the order of the selector.
        """
        if not suggested:
            return {}
        with self.session.step("select") as step:
            known = {item.id for item in suggested}
            chosen = self.selector.select(question, suggested, collected=self.texts())
            kept = dict.fromkeys(item for item in chosen if item in known)
            step.count = len(kept)
            step.details = {"selector": self.selector.fingerprint, "suggested": len(suggested), **details}
        best = [Hit(item.id, item.score) for item in suggested if item.id in kept]
        pruned = {"not selected": len(suggested) - len(kept)}
        self.session.note_hop(Hop(cycle + 1, len(suggested), len(kept), pruned, best, name=f"select: {name}"))
        return kept
