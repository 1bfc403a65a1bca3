"""Exact match and F1 of answers against gold answers, whether retrieved texts hold an answer, and multiple choice.

Answers are normalised as HotpotQA, MuSiQue and HippoRAG do (from SQuAD): lower case, without ASCII punctuation, without the
articles a, an and the, with single spaces. Letters with marks are compared in their composed form (NFC), so that equal texts are
equal. Punctuation beyond ASCII stays, as in the scripts of these sets. Of several gold answers, the one with the best score counts.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_LETTER = re.compile(r"\b([A-Z])\b")
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
    given = normalised(answer)
    return float(any(given == normalised(gold) for gold in _some(golds)))


def f1(answer: str, golds: Sequence[str]) -> float:
    """The highest harmonic mean of precision and recall of the words of an answer, over the gold answers.

    Two answers without a word are equal (SQuAD 2.0).

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
    return max(_f1(given, normalised(gold).split()) for gold in _some(golds))


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
    reply. A reply that names several options gives None.

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
    if (marked := _MARKED.search(reply)) and marked[1].upper() in options:
        return str(marked[1]).upper()
    letters: set[str] = {letter for letter in _LETTER.findall(reply) if letter in options}
    if len(letters) == 1:
        return letters.pop()
    text = f" {normalised(reply)} "
    named = [letter for letter, option in options.items() if normalised(option) and f" {normalised(option)} " in text]
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
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtraError("eval", "BLEU") from error
    return BLEU(max_ngram_order=n, effective_order=True)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def _overlap(same: int, given: int, wanted: int) -> Overlap:
    precision, recall = (same / given if given else 0.0), (same / wanted if wanted else 0.0)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall) if same else 0.0)
