"""The eleven measures of RAGChecker, from which claim follows from which text.

An answer and its gold answer are split into claims, and each claim is checked against the other text and against every
retrieved chunk. Who splits and who checks is not decided here (:class:`ClaimExtractor`, :class:`ClaimChecker`).

References
----------
Ru et al.: RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation. NeurIPS (2024), section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError


class ClaimExtractor(Protocol):
    """Splits a text into claims."""

    def claims(self, text: str) -> tuple[str, ...]:
        """The claims of a text, in its order; none for a text that asserts nothing."""


class ClaimChecker(Protocol):
    """Decides which claims follow from a text."""

    def entailed(self, claims: Sequence[str], text: str) -> Sequence[bool]:
        """For each claim whether it follows from the text.

        Parameters
        ----------
        claims : the claims
        text : the text
        """


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
        """Raises InputError for arrays whose shapes do not belong together."""
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
    """The measures of one question, or their means, each from 0 to 1; None where one is not defined.

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

    An answer without claims has no precision and none of the measures that are shares of its claims; without gold claims
    there is no recall, and without chunks no context precision.

    Parameters
    ----------
    checked : which claim follows from which text
    """
    right = checked.answer_in_gold
    relevant = _any(checked.gold_in_chunks, axis=0)
    found = _any(checked.answer_in_chunks, axis=1)
    of_relevant = _any(checked.answer_in_chunks[:, relevant], axis=1)
    retrieved = _any(checked.gold_in_chunks, axis=1)
    precision, recall = _share(right), _share(checked.gold_in_answer)
    return ClaimScores(
        precision=precision,
        recall=recall,
        f1=None if precision is None or recall is None else _harmonic(precision, recall),
        claim_recall=_share(retrieved),
        context_precision=_share(relevant),
        context_utilization=_share(checked.gold_in_answer[retrieved]),
        noise_sensitivity_in_relevant=_share(~right & of_relevant),
        noise_sensitivity_in_irrelevant=_share(~right & found & ~of_relevant),
        hallucination=_share(~right & ~found),
        self_knowledge=_share(right & ~found),
        faithfulness=_share(found),
    )


def mean_scores(scores: Sequence[ClaimScores]) -> ClaimScores:
    """The mean of each measure over the questions that define it; None where none does."""
    means: dict[str, float | None] = {}
    for item in fields(ClaimScores):
        known = [value for one in scores if (value := getattr(one, item.name)) is not None]
        means[item.name] = float(np.mean(known)) if known else None
    return ClaimScores(**means)


def check_claims(
    answer: str, gold: str, *, chunks: Sequence[str], extractor: ClaimExtractor, checker: ClaimChecker
) -> Checked:
    """Split an answer and its gold answer into claims, and check each against the other text and every chunk.

    Parameters
    ----------
    answer : the answer of a system
    gold : the gold answer
    chunks : the texts that the answer was made from
    extractor : splits texts into claims
    checker : decides what follows from what
    """
    of_answer, of_gold = extractor.claims(answer), extractor.claims(gold)
    return Checked(
        _checked(of_answer, [gold], checker)[:, 0],
        _checked(of_gold, [answer], checker)[:, 0],
        _checked(of_answer, chunks, checker),
        _checked(of_gold, chunks, checker),
    )


def _checked(claims: Sequence[str], texts: Sequence[str], checker: ClaimChecker) -> NDArray[np.bool_]:
    found = np.zeros((len(claims), len(texts)), dtype=np.bool_)
    if claims:
        for column, text in enumerate(texts):
            found[:, column] = list(checker.entailed(claims, text))
    return found


def _any(flags: NDArray[np.bool_], *, axis: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.any(flags, axis=axis)
    return found


def _share(flags: NDArray[np.bool_]) -> float | None:
    return float(np.mean(flags)) if len(flags) else None


def _harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0
