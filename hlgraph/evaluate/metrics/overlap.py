"""ROUGE of texts against reference texts, and BLEU by sacrebleu (extra ``eval``).

References
----------
Lin: ROUGE: A Package for Automatic Evaluation of Summaries. ACL workshop Text Summarization Branches Out (2004).
Post: A Call for Clarity in Reporting BLEU Scores. WMT (2018).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_WORD = re.compile(r"[^\W_]+")


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def rouge_n(text: str, reference: str, *, n: int) -> Overlap:
    """ROUGE-N: the runs of n words that a text and a reference share, each as often as it stands in both.

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


def bleu(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Corpus BLEU from 0 to 1, by sacrebleu with its default tokenizer and smoothing.

    Parameters
    ----------
    texts : one text a question
    references : for each text at least one reference

    Raises
    ------
    InputError
        There is no text, the lengths differ, or a text has no reference.
    MissingExtraError
        sacrebleu is not installed.
    """
    if not texts or len(texts) != len(references) or not all(references):
        raise InputError(
            f"{len(texts)} texts and {len(references)} lists of references; give at least one text, and each at least one "
            "reference"
        )
    made = _bleu(4, is_single=False)
    most = max(map(len, references))  # the first reference fills up: the same one twice changes nothing
    streams = [[some[at] if at < len(some) else some[0] for some in references] for at in range(most)]
    return min(1.0, float(made.corpus_score(list(texts), streams).score) / 100)


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
    return min(
        1.0, float(_bleu(n, is_single=True).sentence_score(text, list(references)).score) / 100
    )  # it says 100.00000000000004


@cache
def _bleu(n: int, *, is_single: bool) -> BLEU:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtraError("eval", "BLEU") from error
    return BLEU(max_ngram_order=n, effective_order=is_single)


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def _overlap(same: int, given: int, wanted: int) -> Overlap:
    precision, recall = (same / given if given else 0.0), (same / wanted if wanted else 0.0)
    return Overlap(precision, recall, 2 * precision * recall / (precision + recall) if same else 0.0)
