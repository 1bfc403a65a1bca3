"""Compares policies on held-out pairs: trained and untrained, mode-seeking and DPO, with growing contexts (GraphMPA, Fig. 5, 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.align.losses import BETA, SMOOTHING, margin, mode_seeking
from hlgraph.align.pairs import Pair, parts_of
from hlgraph.align.policy import Policy
from hlgraph.errors import InputError
from hlgraph.evaluate.metrics.exactness import exact_match, f1

UNTRAINED = "untrained"
"""Name of the model without an adapter, the reference of all margins."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Five figures of a distribution, as a box plot draws them."""

    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Answers with one number of contexts.

    Attributes
    ----------
    k : number of contexts
    questions : number of answers
    exact, f1 : mean exact match and F1 of what stands behind the label of the answer; of the whole text where it is missing
    formed : share of the answers that have a reason and an answer
    """

    k: int
    questions: int
    exact: float
    f1: float
    formed: float


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """What one policy does with the pairs.

    Attributes
    ----------
    name : of the policy
    chosen, rejected : spread of the log-probabilities of the preferred and of the rejected answers (the paper's Fig. 6)
    prefers : share of the pairs whose preferred answer is the more probable one
    margin : mean h, beta times the gain of the preferred answer over the other against the untrained model; 0 for itself
    loss : mean mode-seeking loss of these margins
    by_negative : share of the pairs with a margin above 0, by kind of the rejected answer
    answers : by number of contexts (the paper's Fig. 5); empty where none were asked for
    """

    name: str
    chosen: Spread
    rejected: Spread
    prefers: float
    margin: float
    loss: float
    by_negative: Mapping[str, float]
    answers: tuple[AnswerFigures, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The figures of all policies on the same pairs, the untrained first."""

    pairs: int
    prompts: int
    policies: tuple[PolicyFigures, ...]


def compare(
    pairs: Sequence[Pair],
    policies: Iterable[tuple[str, Callable[[], Policy]]],
    *,
    answer_tokens: int = 200,
    beta: float = BETA,
    smoothing: float = SMOOTHING,
) -> Comparison:
    """The comparison of policies.

    Parameters
    ----------
    pairs : held-out pairs
    policies : names, each with a function that loads its policy; the first is the untrained one; one is held at a time
    answer_tokens : limit of one answer, in tokens; 0: no answers are asked for
    beta, smoothing : of the loss that is reported

    Raises
    ------
    InputError
        There is no pair, or no policy.
    """
    if not pairs:
        raise InputError("there is no pair to compare on; give held-out pairs, which hlgraph align make writes")
    prompts = list({pair.prompt: pair for pair in pairs}.values())
    texts = [(pair.prompt, answer) for pair in pairs for answer in (pair.chosen, pair.rejected)]
    figures: list[PolicyFigures] = []
    reference: NDArray[np.float64] | None = None
    for name, load in policies:
        with progress.step(f"compare {name}", unit="policies"):
            policy = load()
            logs = policy.log_probabilities(texts).reshape(-1, 2)
            replies = (
                policy.answers([pair.prompt for pair in prompts], max_tokens=answer_tokens) if answer_tokens else []
            )
        reference = logs if reference is None else reference
        margins = margin(logs, reference, beta=beta)
        figures.append(
            PolicyFigures(
                name=name,
                chosen=spread(logs[:, 0]),
                rejected=spread(logs[:, 1]),
                prefers=float(np.mean(logs[:, 0] > logs[:, 1])),
                margin=float(margins.mean()),
                loss=float(mode_seeking(margins, smoothing=smoothing).loss.mean()),
                by_negative=_by_negative(pairs, margins),
                answers=_answers(prompts, replies),
            )
        )
    if not figures:
        raise InputError("there is no policy to compare; give a model")
    return Comparison(len(pairs), len(prompts), tuple(figures))


def spread(values: NDArray[np.float64]) -> Spread:
    """The five figures of a distribution: minimum, quartiles and maximum.

    Examples
    --------
    >>> spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    Spread(low=1.0, quarter=2.0, median=3.0, three_quarters=4.0, high=5.0)
    """
    return Spread(*(float(each) for each in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))))


def as_lines(found: Comparison) -> list[str]:
    """A comparison as tables for people."""
    width = max(len(item.name) for item in found.policies)
    lines = [
        f"{found.pairs:,} pairs, {found.prompts:,} prompts",
        f"{'policy':{width}}  prefers  margin    loss  ln pi(chosen): median (quartiles)   ln pi(rejected): median",
    ]
    lines += [
        f"{item.name:{width}}  {100 * item.prefers:6.1f}%  {item.margin:6.3f}  {item.loss:6.3f}  {item.chosen.median:9.1f} "
        f"({item.chosen.quarter:.1f} to {item.chosen.three_quarters:.1f})  {item.rejected.median:9.1f}"
        for item in found.policies
    ]
    kinds = sorted({kind for item in found.policies for kind in item.by_negative})
    lines += ["", "share of pairs with a margin above 0, by kind of the rejected answer"]
    lines += [
        f"{item.name:{width}}  " + ", ".join(f"{kind} {100 * item.by_negative[kind]:.1f}%" for kind in kinds)
        for item in found.policies
    ]
    if any(item.answers for item in found.policies):
        lines += ["", f"{'policy':{width}}   k  questions      EM      F1  with reason and answer"]
        lines += [
            f"{item.name:{width}}  {each.k:2d}  {each.questions:9,}  {100 * each.exact:6.1f}  {100 * each.f1:6.1f}  "
            f"{100 * each.formed:6.1f}%"
            for item in found.policies
            for each in item.answers
        ]
    return lines


def _by_negative(pairs: Sequence[Pair], margins: NDArray[np.float64]) -> dict[str, float]:
    kinds = np.array([pair.negative for pair in pairs])
    return {str(kind): float(np.mean(margins[kinds == kind] > 0)) for kind in sorted(set(kinds.tolist()))}


def _answers(prompts: Sequence[Pair], replies: Sequence[str]) -> tuple[AnswerFigures, ...]:
    if not replies:
        return ()
    rows: dict[int, list[tuple[float, float, float]]] = {}
    for pair, reply in zip(prompts, replies, strict=True):
        parts = parts_of(reply)
        short = parts.answer if parts else reply.strip()
        figures = (exact_match(short, pair.answers), f1(short, pair.answers), float(parts is not None))
        rows.setdefault(pair.k, []).append(figures)
    return tuple(AnswerFigures(k, len(some), *map(float, np.mean(some, axis=0))) for k, some in sorted(rows.items()))
