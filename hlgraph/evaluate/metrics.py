"""Measures of retrieval and of answers, by the names of the field, and the files of TREC that have runs and gold."""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError, ReadError, UnknownNameError, needs_extra

if TYPE_CHECKING:
    from ir_measures import Measure
    from sacrebleu.metrics.bleu import BLEU

CUTOFFS = (2, 5, 10, 20)
MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"all_gold@{k}" for k in CUTOFFS))
"""Names of the measures of a question, in the order of :func:`measured`."""

Judged = tuple[Sequence[str], Collection[str]]
"""The ids that a search found, best first, and the gold ids."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Measures of a group of questions, each a share from 0 to 1.

    Attributes
    ----------
    questions : number of questions
    recall : by cutoff k, the mean over questions of |first k and gold| / |gold|
    all_gold : by cutoff k, the share of questions whose gold ids are all among the first k
    """

    questions: int
    recall: Mapping[int, float]
    all_gold: Mapping[int, float]

    def by_name(self) -> dict[str, float]:
        """The measures by name, as in ``MEASURES``, from 0 to 1."""
        return dict(zip(MEASURES, (*self.recall.values(), *self.all_gold.values()), strict=True))


UNDEFINED = Scores(0, dict.fromkeys(CUTOFFS, math.nan), dict.fromkeys(CUTOFFS, math.nan))
"""Measures of questions without gold ids."""


def recall_at(ranked: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """The share of the gold ids among the first k; an id ranked twice takes two places and counts once.

    Parameters
    ----------
    ranked : ids, best first
    gold : ids to find, at least one
    k : cutoff

    Raises
    ------
    InputError
        There are no gold ids.

    Examples
    --------
    >>> recall_at(["a", "b", "c"], {"a", "c", "d", "e"}, k=2)
    0.25
    """
    if not gold:
        raise InputError("recall is undefined because no id is gold; give each question at least one")
    wanted = set(gold)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def measured(ranked: Sequence[str], gold: Collection[str]) -> tuple[float, ...]:
    """All measures of one question, in the order of ``MEASURES``.

    ``all_gold@k`` is 1 if all gold ids are among the first k, else 0.

    Parameters
    ----------
    ranked : ids, best first
    gold : ids to find, at least one

    Raises
    ------
    InputError
        There are no gold ids.

    Examples
    --------
    >>> dict(zip(MEASURES, measured(["a", "x", "b"], {"a", "b"})))["recall@2"]
    0.5
    """
    recall = [recall_at(ranked, gold, k=k) for k in CUTOFFS]
    return (*recall, *(float(share == 1.0) for share in recall))


def score(judged: Sequence[Judged]) -> Scores:
    """The mean measures of a group of questions.

    Raises
    ------
    InputError
        There is no question, or one without gold ids.

    Examples
    --------
    >>> score([(["a", "b"], {"a"}), (["x"], {"y"})]).recall[2]
    0.5
    """
    if not judged:
        raise InputError("no question to score")
    columns = zip(*(measured(ranked, gold) for ranked, gold in judged), strict=True)
    means = [math.fsum(column) / len(judged) for column in columns]
    recall, all_gold = means[: len(CUTOFFS)], means[len(CUTOFFS) :]
    return Scores(len(judged), dict(zip(CUTOFFS, recall, strict=True)), dict(zip(CUTOFFS, all_gold, strict=True)))


# Measures of rankings by ir-measures (extra ``eval``): nDCG, AP, RR, P, R and Success at a cutoff; nDCG, AP, RR, Rprec of all.
#
# References
# ----------
# MacAvaney, Macdonald, Ounis: Streamlining Evaluation with ir-measures. ECIR (2022).


_CUT, _WHOLE = ("nDCG", "AP", "RR", "P", "R", "Success"), ("nDCG", "AP", "RR", "Rprec")
FAMILIES = tuple(dict.fromkeys(_CUT + _WHOLE))
"""The supported measures; all are shares from 0 to 1 and need no graded relevance."""
_LIST = ", "
_NAME = re.compile(rf"({'|'.join(_CUT)})@([1-9]\d{{0,5}})|({'|'.join(_WHOLE)})", re.ASCII)


def check_names(names: Sequence[str], *, others: Sequence[str] = ()) -> None:
    """Check that measures can be computed.

    Parameters
    ----------
    names : such as ``nDCG@10``, ``AP`` or ``RR``
    others : names of other measures, which an error message also lists; default none

    Raises
    ------
    UnknownNameError
        There is no such measure.
    MissingExtraError
        ir-measures is not installed.
    """
    for name in names:
        _measure(name, others)


def ranked_measures(names: Sequence[str], judged: Sequence[Judged]) -> NDArray[np.float64]:
    """The measures of each question.

    An id that is ranked twice counts at its first place. Every gold id is equally relevant.

    Parameters
    ----------
    names : names of measures
    judged : found ids, best first, and gold ids, of each question

    Returns
    -------
    ndarray
        Shape (questions, measures), from 0 to 1. A question for which nothing was found has 0.

    Raises
    ------
    UnknownNameError
        There is no such measure.
    MissingExtraError
        ir-measures is not installed.
    """
    measures = [_measure(name) for name in names]
    values = np.zeros((len(judged), len(names)), dtype=np.float64)
    if not measures or not judged:
        return values
    import ir_measures

    runs, golds = [], []
    for number, (ranked, gold) in enumerate(judged):
        golds += [ir_measures.Qrel(str(number), name, 1) for name in sorted(gold)]
        first = dict.fromkeys(ranked)
        runs += [ir_measures.ScoredDoc(str(number), name, -float(place)) for place, name in enumerate(first)]
    place_of = {measure: place for place, measure in enumerate(measures)}
    for item in ir_measures.iter_calc(measures, golds, runs):
        values[int(item.query_id), place_of[item.measure]] = item.value
    return values


def _measure(name: str, others: Sequence[str] = ()) -> Measure:
    with needs_extra("eval", f"the measure {name}"):
        import ir_measures
    # The parser of ir-measures accepts cutoffs that its measures cannot take, and uses what Python 3.14 has removed.
    if match := _NAME.fullmatch(name):
        measure: Measure = getattr(ir_measures, match[1] or match[3])
        return measure @ int(match[2]) if match[2] else measure
    raise UnknownNameError(
        f"no measure {name!r}; give one such as nDCG@10, with @k from 1 to 999999 ({_LIST.join(_CUT)}) or without "
        f"({_LIST.join(_WHOLE)}){f', or of answers: {_LIST.join(others)}' if others else ''}"
    )


# Files of TREC: runs and qrels.


def run_text(rankings: Mapping[str, Sequence[str]], *, name: str) -> str:
    """The text of a run file.

    Scores are the negative ranks, so that every program that sorts by score keeps the order.

    Parameters
    ----------
    rankings : document ids by question id, best first
    name : name of the system

    Raises
    ------
    InputError
        An id or the name is empty or has white space, or a question ranks a document twice.

    Examples
    --------
    >>> print(run_text({"q1": ["b", "a"]}, name="path"), end="")
    q1 Q0 b 1 -1 path
    q1 Q0 a 2 -2 path
    """
    _check_word(name, "name")
    lines = []
    for question, ranked in rankings.items():
        _check_word(question, "question")
        if len(set(ranked)) < len(ranked):
            raise InputError(f"question {question} ranks a document twice; give each document one rank")
        for rank, document in enumerate(ranked, start=1):
            _check_word(document, "document")
            lines.append(f"{question} Q0 {document} {rank} {-rank} {name}\n")
    return "".join(lines)


def qrels_text(golds: Mapping[str, AbstractSet[str]]) -> str:
    """The text of a qrels file: each gold document has the relevance 1.

    Parameters
    ----------
    golds : gold document ids by question id

    Raises
    ------
    InputError
        An id is empty or has white space.

    Examples
    --------
    >>> print(qrels_text({"q1": {"b", "a"}}), end="")
    q1 0 a 1
    q1 0 b 1
    """
    lines = []
    for question, documents in golds.items():
        _check_word(question, "question")
        for document in sorted(documents):
            _check_word(document, "document")
            lines.append(f"{question} 0 {document} 1\n")
    return "".join(lines)


def read_run(path: str | Path) -> dict[str, tuple[str, ...]]:
    """The rankings of a run file: by falling score, then by falling document id, as trec_eval sorts them; ranks are ignored.

    As in trec_eval, scores that are equal in single precision are ties.

    Parameters
    ----------
    path : the file

    Returns
    -------
    dict
        Document ids by question id, questions in the order of the file.

    Raises
    ------
    ReadError
        The file cannot be read, a line has another form (the message has its number), or a question ranks a document twice.
    """
    by_question: dict[str, dict[str, float]] = {}
    for number, (question, _, document, _, score, _) in _lines(path, "question Q0 document rank score name"):
        scores = by_question.setdefault(question, {})
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or document in scores:
            reason = (
                f"{document} comes twice for {question}" if document in scores else f"the score {score!r} is no number"
            )
            raise ReadError(f"{path}, line {number}", reason, "correct the line")
        with np.errstate(over="ignore"):
            scores[document] = float(np.float32(value))
    # trec_eval breaks ties by falling id
    return {
        question: tuple(sorted(sorted(scores, reverse=True), key=lambda name: -scores[name]))
        for question, scores in by_question.items()
    }


def read_qrels(path: str | Path) -> dict[str, frozenset[str]]:
    """The relevant documents of a qrels file: those with a relevance above 0, by question id.

    Parameters
    ----------
    path : the file

    Raises
    ------
    ReadError
        The file cannot be read, or a line has another form (the message has its number).
    """
    relevant: dict[str, set[str]] = {}
    for number, (question, _, document, relevance) in _lines(path, "question 0 document relevance"):
        documents = relevant.setdefault(question, set())
        if not re.fullmatch(r"-?[0-9]{1,9}", relevance):
            reason = f"the relevance {relevance!r:.40} is not a whole number"
            raise ReadError(f"{path}, line {number}", reason, "correct the line")
        if int(relevance) > 0:
            documents.add(document)
    return {question: frozenset(documents) for question, documents in relevant.items()}


def _check_word(text: str, what: str) -> None:
    if not text or text.split() != [text]:
        raise InputError(f"the {what} {text!r} cannot be written to a TREC file; give an id without white space")


def _lines(path: str | Path, form: str) -> list[tuple[int, list[str]]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(str(path), f"it cannot be read: {error}", "give a TREC file in UTF-8") from error
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise ReadError(f"{path}, line {number}", f"it cannot be read: {error}", "give a TREC file in UTF-8") from error
    rows = [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    for number, words in rows:
        if len(words) != len(form.split()):
            raise ReadError(f"{path}, line {number}", f"it has {len(words)} fields", f"a line is: {form}")
    return rows


# Measures of the texts of answers.

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_LETTER = re.compile(r"\b([A-Z])\b")
_INDEFINITE = re.compile(r"\b[Aa]\s+(?=\w)")
_PRONOUN = re.compile(r"\bI(?=['’]| [a-z])")
_ONLY_LETTER = re.compile(r"\W*([A-Za-z])\W*")
_MARKED = re.compile(r"\banswer(?:\s+is)?\s*[:=]?\s*\(?\b([A-Z])\b", re.IGNORECASE)


def normalised(text: str) -> str:
    """An answer in the form in which answers are compared.

    Examples
    --------
    >>> normalised("The Halfmoon  Bridge, Ombry!")
    'halfmoon bridge ombry'
    """
    composed = unicodedata.normalize("NFC", text)
    return " ".join(_ARTICLE.sub(" ", composed.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer equals a gold answer once both are normalised, else 0.

    Gold answers without a word count only if none has one (SQuAD 2.0).

    Parameters
    ----------
    answer : the answer; empty for none
    golds : accepted answers, at least one

    Raises
    ------
    InputError
        There is no gold answer.

    Examples
    --------
    >>> exact_match("the River Velm.", ["Velm", "River Velm"])
    1.0
    """
    return float(normalised(answer) in _wanted(golds))


def f1(answer: str, golds: Sequence[str]) -> float:
    """The highest harmonic mean of precision and recall of the words of an answer, over the gold answers.

    Two answers without a word are equal; gold answers without a word count only if none has one (SQuAD 2.0).

    Parameters
    ----------
    answer : the answer; empty for none
    golds : accepted answers, at least one

    Raises
    ------
    InputError
        There is no gold answer.

    Examples
    --------
    >>> f1("It is the River Velm", ["Velm", "River Velm"])
    0.6666666666666666
    """
    given = normalised(answer).split()
    return max(_f1(given, gold.split()) for gold in _wanted(golds))


def _wanted(golds: Sequence[str]) -> list[str]:
    return [words for words in map(normalised, _some(golds)) if words] or [""]


def _f1(given: list[str], gold: list[str]) -> float:
    if not given or not gold:
        return float(given == gold)
    same = sum((Counter(given) & Counter(gold)).values())
    return 2 * same / (len(given) + len(gold))


def token_recall(text: str, golds: Sequence[str]) -> float:
    """The highest share of the words of a gold answer that a text contains, each counted as often as it occurs in both.

    A gold answer without a word is in no text.

    Parameters
    ----------
    text : the text; empty for none
    golds : accepted answers, at least one

    Raises
    ------
    InputError
        There is no gold answer.

    Examples
    --------
    >>> token_recall("It joins the Velm below Ombry.", ["River Velm"])
    0.5
    """
    given = Counter(normalised(text).split())
    wanted = [Counter(normalised(gold).split()) for gold in _some(golds)]
    return max((words & given).total() / words.total() if words else 0.0 for words in wanted)


def has_answer(texts: Sequence[str], golds: Sequence[str]) -> float:
    """1 if a gold answer stands in one of the texts as a run of whole words, else 0 (answer recall of one question).

    A gold answer without words after normalisation is in no text. Words end at white space, so an answer in a script without
    spaces is only found if it stands alone.

    Parameters
    ----------
    texts : retrieved texts
    golds : accepted answers, at least one

    Raises
    ------
    InputError
        There is no gold answer.

    Examples
    --------
    >>> has_answer(["The Velm flooded Ombry in 1897."], ["1897"]), has_answer(["In 18970."], ["1897"])
    (1.0, 0.0)
    """
    wanted = [f" {words} " for words in map(normalised, _some(golds)) if words]
    return float(any(words in f" {normalised(text)} " for text in texts for words in wanted))


def chosen_option(reply: str, options: Mapping[str, str]) -> str | None:
    """The option of a multiple choice question that a reply names: by its letter, else by its text. None if it names none.

    Uses the letter after "answer", else the only letter of an option in the reply, else the only option whose text is in the
    reply. A reply that names several options gives None. An "a" before a word, an "A" before the text of an option, and an "I"
    before a word in lower case are an article and a pronoun, not letters of options.

    Parameters
    ----------
    reply : what a model said
    options : texts by letter, from A to Z

    Raises
    ------
    InputError
        There are fewer than two options, or one is not named by a letter from A to Z.

    Examples
    --------
    >>> options = {"A": "in Ombry", "B": "in Kestrin"}
    >>> [chosen_option(text, options) for text in ("Answer: B", "(A)", "She was born in Kestrin.", "A or B", "")]
    ['B', 'A', 'B', None, None]
    """
    if len(options) < 2 or not all(_LETTER.fullmatch(letter) for letter in options):
        raise InputError(
            f"the options are {', '.join(options) or 'none'}; give at least two, named by letters from A to Z"
        )
    texts = {letter: f" {words} " for letter, option in options.items() if (words := normalised(option))}

    def without_article(match: re.Match[str]) -> str:
        rest = f" {normalised(reply[match.end() :])} "
        return "" if match[0][0] == "a" or rest.startswith(tuple(texts.values())) else match[0]

    bare = _INDEFINITE.sub(without_article, reply)
    if (marked := _MARKED.search(bare) or _ONLY_LETTER.fullmatch(bare)) and marked[1].upper() in options:
        return str(marked[1]).upper()
    letters: set[str] = {letter for letter in _LETTER.findall(_PRONOUN.sub("", bare)) if letter in options}
    if len(letters) == 1:
        return letters.pop()
    text = f" {normalised(reply)} "
    named = [letter for letter, words in texts.items() if words in text]
    return named[0] if not letters and len(named) == 1 else None


def _some(golds: Sequence[str]) -> Sequence[str]:
    if not golds or isinstance(golds, str):
        raise InputError("an answer is measured against a list of gold answers; give at least one")
    return golds


# ROUGE of texts against reference texts, and BLEU by sacrebleu (extra ``eval``).
#
# References
# ----------
# Lin: ROUGE: A Package for Automatic Evaluation of Summaries. ACL workshop Text Summarization Branches Out (2004).
# Post: A Call for Clarity in Reporting BLEU Scores. WMT (2018).


_WORD = re.compile(r"[^\W_]+")


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def rouge_n(text: str, reference: str, *, n: int) -> Overlap:
    """ROUGE-N: the runs of n words that a text and a reference share, each counted as often as it occurs in both.

    Words are runs of letters and digits of any script in lower case, without stemming.

    Parameters
    ----------
    text : the text that is measured
    reference : the text that it is compared with
    n : length of the runs in words, at least 1

    Raises
    ------
    InputError
        ``n`` is below 1.

    Examples
    --------
    >>> rouge_n("the ferry crossed the river", "the ferry sank", n=2)
    Overlap(precision=0.25, recall=0.5, f1=0.3333333333333333)
    """
    if n < 1:
        raise InputError(f"n is {n}; ROUGE-N counts runs of at least one word")
    runs = [
        Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))
        for words in (_words(text), _words(reference))
    ]
    return _overlap((runs[0] & runs[1]).total(), runs[0].total(), runs[1].total())


def rouge_l(text: str, reference: str) -> Overlap:
    """ROUGE-L: the longest common subsequence of the words of a text and of a reference, each as one sequence.

    Parameters
    ----------
    text : the text that is measured
    reference : the text that it is compared with

    Examples
    --------
    >>> rouge_l("the ferry crossed the river", "the river crossed the ferry").f1
    0.6
    """
    given, wanted = _words(text), _words(reference)
    row = [0] * (len(wanted) + 1)
    for word in given:
        diagonal = 0
        for at, other in enumerate(wanted, start=1):
            diagonal, row[at] = row[at], diagonal + 1 if word == other else max(row[at], row[at - 1])
    return _overlap(row[-1], len(given), len(wanted))


def sentence_bleu(text: str, references: Sequence[str], *, n: int = 4) -> float:
    """BLEU of one text from 0 to 1, by sacrebleu; runs longer than the text do not count (its effective order).

    Parameters
    ----------
    text : the text that is measured
    references : the texts that it is compared with, at least one
    n : length of the longest runs in words, default 4; 1 is BLEU-1

    Raises
    ------
    InputError
        There is no reference, or ``n`` is below 1.
    MissingExtraError
        sacrebleu is not installed.
    """
    if not references or isinstance(references, str) or n < 1:
        raise InputError(
            f"{len(references)} references and runs of {n} words; give a list of at least one, and runs of at least one word"
        )
    return min(1.0, float(_bleu(n).sentence_score(text, list(references)).score) / 100)  # can be 100.00000000000004


@cache
def _bleu(n: int) -> BLEU:
    with needs_extra("eval", "BLEU"):
        from sacrebleu.metrics.bleu import BLEU
    return BLEU(max_ngram_order=n, effective_order=True)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def _overlap(same: int, given: int, wanted: int) -> Overlap:
    precision, recall = (same / given if given else 0.0), (same / wanted if wanted else 0.0)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall) if same else 0.0)
