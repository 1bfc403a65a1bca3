"""Claims by a chat model: one call splits a text, and one call checks up to 20 claims against a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.answer.citations import PART_LABEL
from hlgraph.errors import BudgetError, InputError, ModelAccessError, ModelAnswerError, ModelUnavailableError
from hlgraph.evaluate.metrics import f1
from hlgraph.evaluate.statistics import Section
from hlgraph.extract.chat.messages import MAX_TOKENS, Messages, ReplyError, ReplyPart, Words, ask_twice
from hlgraph.extract.wording import Wording, objection, telling_words
from hlgraph.models import choose
from hlgraph.models.accounts.ledger import Purpose, Spent
from hlgraph.models.choose import executor_of
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.text import content_words, fold, sentences

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerOutcome, AnswerReport
    from hlgraph.evaluate.datasets import Question
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.settings import Settings


STAGE = "claims"
"""The stage of these calls in the ledger."""
AT_ONCE = 20
_PROMPTS = Path(__file__).with_name("prompts")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Reply = TypeVar("_Reply", bound=ReplyPart)


class FoundClaims(ReplyPart):
    """The claims of one text."""  # part of the schema that providers are sent

    claims: list[Words]


class _Verdict(ReplyPart):
    number: int
    follows: bool


class FoundEntailments(ReplyPart):
    """For each claim whether it follows from the text."""  # part of the schema that providers are sent

    verdicts: list[_Verdict]


class ChatClaims:
    """Splits texts into claims and checks claims with a chat model. Thread-safe.

    A reply that cannot be parsed is requested once more, with the reason. If that fails as well, ModelAnswerError is raised;
    such a verdict counts neither as true nor as false.

    Parameters
    ----------
    calls : executor of the model, with its ledger (stage ``claims``), stored replies and budget
    max_tokens : maximum length of a reply, in tokens (default 2,048)
    """

    def __init__(self, calls: Executor, *, max_tokens: int = MAX_TOKENS) -> None:
        self._calls = calls
        self._max_tokens = max_tokens

    @property
    def by(self) -> str:
        """Versions of the prompts, and the model."""
        versions = "+".join(read_prompt(_PROMPTS / f"{name}.md").version for name in ("claims", "entailed"))
        return f"{versions}+{self._calls.fingerprint}"

    def claims(self, text: str, *, question: str = "") -> tuple[str, ...]:
        """The claims of a text.

        Parameters
        ----------
        text : the text
        question : the question that it answers, which turns a single word or name into a claim; default: unknown
        """
        if not text.strip():
            return ()
        values = {"question": delimited("question", question), "text": delimited("text", text)}
        return tuple(self._ask("claims", values, FoundClaims).claims)

    def entailed(self, claims: Sequence[str], text: str) -> list[bool]:
        """For each claim whether it follows from the text. Makes one call per 20 claims.

        Parameters
        ----------
        claims : the claims
        text : the text
        """
        entailed: list[bool] = []
        for start in range(0, len(claims) if text.strip() else 0, AT_ONCE):
            batch = claims[start : start + AT_ONCE]
            listed = "\n".join(f"[{number}]\n{delimited('claim', claim)}" for number, claim in enumerate(batch, 1))
            values = {"text": delimited("text", text), "claims": listed}
            said = self._ask("entailed", values, FoundEntailments, check=partial(_check_numbers, count=len(batch)))
            verdicts = {item.number: item.follows for item in said.verdicts}
            entailed += [verdicts[number] for number in range(1, len(batch) + 1)]
        return entailed or [False] * len(claims)

    def told(self, question: str, answer: str) -> str:
        """A question and its answer as a text from which claims can follow.

        Parameters
        ----------
        question : the question
        answer : its short answer
        """
        return f"Question: {question}\nAnswer: {answer}"

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str) -> list[_Result]:
        """The results of an action for each item, in order; several at a time, as the executor runs them.

        Parameters
        ----------
        action : called once per item
        items : the items
        step : name of the step whose progress the items are
        """
        return self._calls.run(action, items, step=step)

    def _ask(
        self,
        name: str,
        values: Mapping[str, str],
        form: type[_Reply],
        *,
        check: Callable[[_Reply], None] = lambda _: None,
    ) -> _Reply:
        """The parsed reply. Raises ModelAnswerError if the second reply cannot be parsed either."""
        prompt = read_prompt(_PROMPTS / f"{name}.md")
        messages, purpose = Messages(prompt.system, prompt.filled(values)), Purpose(stage=STAGE, prompt=prompt.version)
        try:
            return ask_twice(
                self._calls, messages, form=form, purpose=purpose, max_tokens=self._max_tokens, check=check
            )
        except ReplyError as error:
            raise ModelAnswerError(f"{self._calls.fingerprint}: the reply cannot be read: {error}") from error


def _check_numbers(reply: FoundEntailments, *, count: int) -> None:
    """Raises ReplyError unless there is one verdict for each claim."""
    if sorted(item.number for item in reply.verdicts) != list(range(1, count + 1)):
        raise ReplyError(f"there must be one verdict for each of the numbers from 1 to {count}")


# The eleven measures of RAGChecker, computed from which claim follows from which text.
#
# An answer and its gold answer are split into claims, and each claim is checked against the other text and against every
# retrieved chunk. This code does not depend on who splits and who checks.
#
# References
# ----------
# Ru et al.: RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation. NeurIPS (2024), section 3.3.


ClaimWay: TypeAlias = "WordClaims | ChatClaims"
"""Splits texts into claims, and decides which claims follow from a text."""


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """The claims of one question, checked.

    Attributes
    ----------
    answer_in_gold : for each claim of the answer, whether the gold answer entails it; shape (m,)
    gold_in_answer : for each claim of the gold answer, whether the answer entails it; shape (g,)
    answer_in_chunks : whether a retrieved chunk entails a claim of the answer; shape (m, k)
    gold_in_chunks : whether a retrieved chunk entails a claim of the gold answer; shape (g, k)
    """

    answer_in_gold: NDArray[np.bool_]
    gold_in_answer: NDArray[np.bool_]
    answer_in_chunks: NDArray[np.bool_]
    gold_in_chunks: NDArray[np.bool_]

    def __post_init__(self) -> None:
        """Raise InputError if the shapes of the arrays do not match."""
        answer, gold = self.answer_in_chunks.shape, self.gold_in_chunks.shape
        if (
            (len(answer), len(gold)) != (2, 2)
            or answer[1] != gold[1]
            or self.answer_in_gold.shape != answer[:1]
            or self.gold_in_answer.shape != gold[:1]
        ):
            shapes = ", ".join(f"{item.name} {getattr(self, item.name).shape}" for item in fields(self))
            raise InputError(
                f"claims were checked with shapes that differ: {shapes}; give (m,), (g,), (m, k) and (g, k)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimScores:
    """The measures of one question, each from 0 to 1; None if not defined.

    Attributes
    ----------
    precision : share of the claims of the answer that the gold answer entails
    recall : share of the claims of the gold answer that the answer entails
    f1 : harmonic mean of precision and recall
    claim_recall : share of the claims of the gold answer that some chunk entails
    context_precision : share of the chunks that entail some claim of the gold answer (relevant chunks)
    context_utilization : of the claims of the gold answer that some chunk entails, the share that the answer entails
    noise_sensitivity_in_relevant : share of the claims of the answer that are wrong and follow from a relevant chunk
    noise_sensitivity_in_irrelevant : share that are wrong and follow from a chunk, but from no relevant one
    hallucination : share that are wrong and follow from no chunk
    self_knowledge : share that are right and follow from no chunk
    faithfulness : share that follow from some chunk
    """

    precision: float | None
    recall: float | None
    f1: float | None
    claim_recall: float | None
    context_precision: float | None
    context_utilization: float | None
    noise_sensitivity_in_relevant: float | None
    noise_sensitivity_in_irrelevant: float | None
    hallucination: float | None
    self_knowledge: float | None
    faithfulness: float | None


def claim_scores(checked: Checked) -> ClaimScores:
    """The measures of one question (RAGChecker, section 3.3).

    An answer without claims has neither precision nor any measure that is a share of its claims. Without gold claims there is
    no recall, and without chunks no context precision.

    Parameters
    ----------
    checked : which claim follows from which text
    """
    right = checked.answer_in_gold
    relevant = _any(checked.gold_in_chunks, axis=0)
    supported = _any(checked.answer_in_chunks, axis=1)
    of_relevant = _any(checked.answer_in_chunks[:, relevant], axis=1)
    retrieved = _any(checked.gold_in_chunks, axis=1)
    precision, recall = _share(right), _share(checked.gold_in_answer)
    return ClaimScores(
        precision=precision,
        recall=recall,
        f1=None if precision is None or recall is None else 2 * precision * recall / ((precision + recall) or 1),
        claim_recall=_share(retrieved),
        context_precision=_share(relevant),
        context_utilization=_share(checked.gold_in_answer[retrieved]),
        noise_sensitivity_in_relevant=_share(~right & of_relevant),
        noise_sensitivity_in_irrelevant=_share(~right & supported & ~of_relevant),
        hallucination=_share(~right & ~supported),
        self_knowledge=_share(right & ~supported),
        faithfulness=_share(supported),
    )


def _any(flags: NDArray[np.bool_], *, axis: int) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = np.any(flags, axis=axis)
    return result


def _share(flags: NDArray[np.bool_]) -> float | None:
    return float(np.mean(flags)) if len(flags) else None


# The measures of RAGChecker for the answers of an evaluation, by strategy and question.


_STEP = "claims"


class MissingScores(NamedTuple):
    """Why a question has no measures: it was not answered, or a reply is missing or cannot be parsed."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """The measures of claims.

    Attributes
    ----------
    by : who split and checked: ``words/2``, or the prompts and the model
    questions : ids of the questions, in the order of the scores
    scores : by strategy, one per question; a question without measures is left out of every mean
    """

    by: str
    questions: tuple[str, ...]
    scores: Mapping[str, tuple[ClaimScores | MissingScores, ...]]

    def notes(self) -> list[str]:
        """A line for each reason why questions have no measures."""
        return [
            f"{name}: no claims of {count} questions: {reason}"
            for name, items in self.scores.items()
            for reason, count in Counter(item.reason for item in items if isinstance(item, MissingScores)).items()
        ]


def check_answers(found: AnswerReport, way: ClaimWay) -> ClaimReport:
    """Split the answers and their gold answers into claims, and check each against the other and against what was retrieved.

    Of several gold answers the one with the best F1 counts. A gold answer is combined with its question, since it may be a bare
    name. The chunks are all pieces of evidence that the reader was given, cited or not. If the model stops answering or its
    budget is spent, the remaining questions have no measures.

    Parameters
    ----------
    found : the answers
    way : who splits and checks
    """
    scores: dict[str, tuple[ClaimScores | MissingScores, ...]] = {}
    for name, answered in found.strategies.items():
        pairs = list(zip(found.questions, answered.outcomes, strict=True))
        with progress.step(f"{_STEP} {name}", len(pairs), unit="questions"):
            scores[name] = tuple(way.run(_Checking(way), pairs, step=f"{_STEP} {name}"))
    return ClaimReport(way.by, tuple(question.id for question in found.questions), scores)


class _Checking:
    """Check questions until the model fails permanently; the remaining questions get that error as their reason."""

    def __init__(self, way: ClaimWay) -> None:
        self._way = way
        self._ended = ""

    def __call__(self, pair: tuple[Question, AnswerOutcome]) -> ClaimScores | MissingScores:
        question, outcome = pair
        if outcome.error:
            return MissingScores("it was not answered")
        if self._ended:
            return MissingScores(self._ended)
        if not question.answers:
            return MissingScores("it has no gold answer")
        gold = max(question.answers, key=lambda text: f1(outcome.short, [text]))
        try:
            return claim_scores(_checked_claims(question.text, outcome, gold=gold, way=self._way))
        except ModelAnswerError as error:
            return MissingScores(str(error))
        except (BudgetError, ModelAccessError, ModelUnavailableError) as error:
            self._ended = f"{type(error).__name__}: {error}"
            return MissingScores(self._ended)


def _checked_claims(question: str, outcome: AnswerOutcome, *, gold: str, way: ClaimWay) -> Checked:
    of_answer = () if outcome.is_refused else way.claims(outcome.text, question=question)
    of_gold = way.claims(gold, question=question)
    in_chunks = [_flags(way, (*of_answer, *of_gold), text) for text in (piece.text for piece in outcome.retrieved)]
    joint = np.array(in_chunks, dtype=np.bool_).reshape(len(in_chunks), len(of_answer) + len(of_gold)).T
    return Checked(
        _flags(way, of_answer, way.told(question, gold)),
        _flags(way, of_gold, f"{outcome.text}\n\n{way.told(question, outcome.short)}" if of_answer else ""),
        joint[: len(of_answer)],
        joint[len(of_answer) :],
    )


def _flags(way: ClaimWay, claims: Sequence[str], text: str) -> NDArray[np.bool_]:
    verdicts = way.entailed(claims, text) if claims else []
    return np.array(verdicts, dtype=np.bool_)


# Claims by words alone: a sentence is a claim, and a claim follows from a text if one place of the text has its words.
#
# This proxy misses more than a chat model: it knows no synonyms and makes no multi-step inference. It favours precision.


SHARE = 2 / 3
"""Minimum share of the ordinary words of a claim that a place of the text must have."""

_TOKEN = re.compile(r"\d[\d.,:/-]*\d|\d|[^\W\d_][\w'’-]*")
_BY = re.compile(r"\bby\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|these)\b", re.IGNORECASE)
_DATE_GAP = 2
_MARK = re.compile(r"\s*\[\d+\]")


class WordClaims:
    """Splits texts into sentences, and checks by :func:`objection` and the order of names and numbers.

    Examples
    --------
    >>> words = WordClaims()
    >>> words.claims("Mara Quill built the mill [1]. It fell in 1953.")
    ('Mara Quill built the mill.', 'It fell in 1953.')
    >>> told = "The mill of Tessing was built by Mara Quill in 1931, and the bridge in 1932."
    >>> claims = ["Mara Quill built the mill.", "Mara Quill built the mill in 1932.", "Mara Quill never built the mill."]
    >>> words.entailed(claims, told)
    [True, False, False]
    """

    by = "words/2"

    def claims(self, text: str, *, question: str = "") -> tuple[str, ...]:
        """The sentences of a text that have a name, a number or an ordinary word, without citation marks, the labels of an answer
        with a reason, and the question.

        Parameters
        ----------
        text : the text
        question : the question that it answers, which it may repeat; default: unknown
        """
        bare = _MARK.sub("", text)
        labels = ((PART_LABEL.match(bare, start, end), start, end) for start, end in sentences(bare))
        parts = (bare[label.end() if label else start : end] for label, start, end in labels)
        return tuple(part for part in parts if any(telling_words(part)) and part != question)

    def entailed(self, claims: Sequence[str], text: str) -> list[bool]:
        """For each claim whether one sentence of the text, or two consecutive ones, state it.

        Two sentences count as one place if the second begins with a pronoun. A place states a claim if it has all numbers and
        names of the claim and two thirds of its other content words, and neither of the two denies what the other asserts. The
        names must be in the order of the claim, unless one of the two is in the passive (has "by"). No other number may be
        nearer to the words of the claim than one of its own. A place that contains the claim word for word states it.

        Parameters
        ----------
        claims : the claims
        text : the text
        """
        parts = [text[start:end] for start, end in sentences(text)]
        places = [*parts, *(f"{one} {other}" for one, other in pairwise(parts) if _PRONOUN.match(other))]
        return [any(_says(place, claim) for place in places) for claim in claims]

    def told(self, question: str, answer: str) -> str:
        """A question and its answer as a text: two sentences, the answer first, and the answer last.

        Parameters
        ----------
        question : the question
        answer : its short answer
        """
        asked = " ".join(question.split()).rstrip("?. ")
        return f"{answer}: {asked}\n\n{asked}: {answer}"

    def run(self, action: Callable[[_Item], _Result], items: Sequence[_Item], *, step: str) -> list[_Result]:
        """The results of an action for each item, one after the other.

        Parameters
        ----------
        action : called once per item
        items : the items
        step : name of the step whose progress the items are
        """
        results = []
        for item in items:
            results.append(action(item))
            progress.advance(step)
        return results


def _says(place: str, claim: str) -> bool:
    if " ".join(_tokens(claim)) in " ".join(_tokens(place)):
        return True
    if objection(claim, [place]):
        return False
    wording = Wording([place])
    names = [word for word in _TOKEN.findall(claim) if word[0].isupper() and len(word) > 1 and content_words(word)]
    plain = [word for word in telling_words(claim)[1] if not word[0].isdigit()]
    if not all(map(wording.has, names)) or wording.share(plain) < SHARE:
        return False
    return _has_order(place, claim, names) and _has_numbers(place, claim)


def _has_order(place: str, claim: str, names: Sequence[str]) -> bool:
    """Whether a place has the names of a claim in the same order, or one of the two is in the passive."""
    if bool(_BY.search(place)) != bool(_BY.search(claim)):
        return True
    capitalised = _tokens(" ".join(word for word in _TOKEN.findall(place) if word[0].isupper()))
    rest = iter(capitalised)
    return all(name in rest for name in _tokens(" ".join(names)) if name in capitalised)


def _has_numbers(place: str, claim: str) -> bool:
    """Whether each number of the claim is at least as near to the words of the claim as any other number of the place."""
    asked, tokens = _tokens(claim), _tokens(place)
    numbers = {word for word in asked if word[0].isdigit()}
    content = {word for word in asked if word not in numbers and content_words(word)}
    spots = [spot for spot, word in enumerate(tokens) if word in content]
    groups = _groups(tokens)
    others = [_distance(spots, group) for group in groups if not numbers & {tokens[at] for at in group}]
    for number in numbers & set(tokens):  # objections compare other spellings
        own = [_distance(spots, group) for group in groups if number in {tokens[at] for at in group}]
        if min(own) > min(others, default=len(tokens)):
            return False
    return True


def _groups(words: Sequence[str]) -> list[list[int]]:
    """Offsets of the numbers, grouped if at most one word separates them: a date is one group."""
    groups: list[list[int]] = []
    for at in (at for at, word in enumerate(words) if word[0].isdigit()):
        if groups and at - groups[-1][-1] <= _DATE_GAP:
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _distance(spots: Sequence[int], group: Sequence[int]) -> int:
    return min((abs(spot - at) for spot in spots for at in group), default=0)


def _tokens(text: str) -> list[str]:
    return [fold(word).removesuffix("'s") for word in _TOKEN.findall(text)]


# The measures of claims as a section of the report.


def claims_by_words(answered: AnswerReport) -> Section:
    """The eleven measures of RAGChecker for each answer, split and checked by words."""
    return _section(check_answers(answered, WordClaims()))


def claims_by_chat(
    answered: AnswerReport, *, settings: Settings, budget: Budget | None = None, before: Spent | None = None
) -> Section:
    """The eleven measures of RAGChecker for each answer, split and checked by the chat model.

    Parameters
    ----------
    answered : the answers
    settings : all settings; the calls are entered in the ledger for their corpus
    budget : what may be spent; None: no limit
    before : what was spent on the answers and their judges, which counts towards the budget
    """
    spent = before or Spent(name="", calls=0, input_tokens=0, output_tokens=0)
    executor = executor_of(choose.chosen_chat(settings.models.chat, settings.models), settings, corpus=settings.corpus)
    try:
        calls = executor.begin(budget)
        purse = calls.purse
        purse.carry(spent.calls, spent.input_tokens, output_tokens=spent.output_tokens)
        report = check_answers(answered, ChatClaims(calls, max_tokens=settings.models.max_tokens))
        cost = (
            f"{purse.calls - spent.calls:,} calls, {purse.input_tokens - spent.input_tokens:,} tokens in, "
            f"{purse.output_tokens - spent.output_tokens:,} out"
        )
        return _section(report, cost)
    finally:
        executor.close()


def _section(report: ClaimReport, *notes: str) -> Section:
    measures = tuple(item.name for item in fields(ClaimScores))
    return Section(
        title=f"claims, split and checked by {report.by}",
        questions=report.questions,
        measures=measures,
        values={
            name: tuple(astuple(item) if isinstance(item, ClaimScores) else (None,) * len(measures) for item in items)
            for name, items in report.scores.items()
        },
        notes=(*notes, *report.notes()),
    )
