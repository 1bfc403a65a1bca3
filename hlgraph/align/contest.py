"""Compare policies on held-out pairs: trained and untrained, mode-seeking and DPO, with growing contexts (GraphMPA, Fig. 5, 6)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.align.losses import BETA, dpo, margin, mode_seeking
from hlgraph.align.pairs import NEGATIVES, Pair, Prompt, parts_of, prompts_beside, read_pairs
from hlgraph.align.train import TransformersPolicy, adapter_in, beyond_reach, load, with_adapter
from hlgraph.errors import InputError
from hlgraph.evaluate.figures import Table, Tabled
from hlgraph.evaluate.metrics import exact_match, f1, has_answer
from hlgraph.evaluate.statistics import Difference, Resamples

UNTRAINED = "untrained"
"""Name of the model without an adapter, the reference of all margins."""
_LEAST = 5  # questions of an interval


@dataclass(frozen=True, slots=True)
class Spread:
    """Five figures of a distribution, as a box plot draws them: minimum, quartiles and maximum."""

    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float


@dataclass(frozen=True, slots=True)
class NegativeFigures:
    """The pairs with one kind of rejected answer.

    Attributes
    ----------
    kind : of the rejected answers, see :data:`hlgraph.align.pairs.NEGATIVES`
    pairs : number of pairs
    prefers : share whose preferred answer is the more probable one
    gains : share with a margin above 0; None for the untrained model, whose margins are all 0
    margin : mean h
    """

    kind: str
    pairs: int
    prefers: float
    gains: float | None
    margin: float


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """Answers with one number of contexts.

    Attributes
    ----------
    k : number of contexts
    questions : number of answers
    exact, f1 : mean exact match and F1 of the text after the answer label; of the whole text if the label is missing
    contains : share of the texts in which a gold answer occurs
    formed : share of the texts that have a reason and an answer
    """

    k: int
    questions: int
    exact: float
    f1: float
    contains: float
    formed: float


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """The results of one policy on the pairs and the prompts.

    Attributes
    ----------
    name : of the policy
    chosen, rejected : spread of the log-probabilities of the preferred and of the rejected answers (the paper's Fig. 6)
    prefers : share of the pairs whose preferred answer is the more probable one
    margin : mean h, beta times the gain of the preferred answer over the rejected one, relative to the untrained model; 0 for
        that model itself
    mode_seeking, dpo : mean losses of these margins, see :mod:`hlgraph.align.losses`
    negatives : by kind of the rejected answer
    answers : by number of contexts (the paper's Fig. 5); empty if none were requested
    gain : F1 minus that of the untrained model, averaged over the questions, with a paired interval; None for the untrained
        model, and for fewer than five questions, which are too few for an interval
    """

    name: str
    chosen: Spread
    rejected: Spread
    prefers: float
    margin: float
    mode_seeking: float
    dpo: float
    negatives: tuple[NegativeFigures, ...]
    answers: tuple[AnswerFigures, ...]
    gain: Difference | None


@dataclass(frozen=True, slots=True)
class Comparison(Tabled):
    """The figures of all policies on the same pairs and prompts, the untrained first.

    Attributes
    ----------
    pairs, prompts, questions : number of pairs, of prompts that were answered, and of their questions
    policies : the figures
    """

    pairs: int
    prompts: int
    questions: int
    policies: tuple[PolicyFigures, ...]

    def tables(self) -> list[Table]:
        """The figures of each policy."""
        rows = tuple(
            (
                item.name,
                f"{100 * item.prefers:.1f} %",
                *(f"{value:.3f}" for value in (item.margin, item.mode_seeking, item.dpo)),
            )
            for item in self.policies
        )
        head = ("policy", "prefers", "margin", "mode-seeking", "dpo")
        return [Table(f"{self.pairs:,} pairs", head, rows)]


class _Row(NamedTuple):
    """The figures of one answer."""

    question: str
    k: int
    exact: float
    f1: float
    contains: float
    formed: float


def compare(
    pairs: Sequence[Pair],
    policies: Iterable[tuple[str, Callable[[], TransformersPolicy]]],
    *,
    prompts: Sequence[Prompt] = (),
    answer_tokens: int = 200,
    beta: float = BETA,
) -> Comparison:
    """The comparison of policies.

    Parameters
    ----------
    pairs : held-out pairs
    policies : a function that loads the policy, by name; the first is the untrained one; only one policy is in memory at a time
    prompts : the prompts to answer; default: those of the pairs, whose questions differ from one number of contexts to the next
    answer_tokens : limit of one answer, in tokens; 0: no answers are requested
    beta : of the losses that are reported

    Raises
    ------
    InputError
        There is no pair, or no policy.
    """
    if not pairs:
        raise InputError("there is no pair to compare on; give held-out pairs, which hlgraph align make writes")
    asked = (prompts or prompts_of(pairs)) if answer_tokens else ()
    texts = [(pair.prompt, answer) for pair in pairs for answer in (pair.chosen, pair.rejected)]
    figures: list[PolicyFigures] = []
    reference: tuple[NDArray[np.float64], list[_Row]] | None = None
    for name, load_policy in policies:
        with progress.step(f"compare {name}", unit="policies"):
            policy = load_policy()
            logs = policy.log_probabilities(texts).reshape(-1, 2)
            replies = policy.answers([item.prompt for item in asked], max_tokens=answer_tokens) if asked else []
        rows = _rows(asked, replies)
        first, first_rows = reference or (logs, rows)
        margins = margin(logs, first, beta=beta)
        figures.append(
            PolicyFigures(
                name=name,
                chosen=spread(logs[:, 0]),
                rejected=spread(logs[:, 1]),
                prefers=float(np.mean(logs[:, 0] > logs[:, 1])),
                margin=float(margins.mean()),
                mode_seeking=float(mode_seeking(margins).loss.mean()),
                dpo=float(dpo(margins).loss.mean()),
                negatives=_negatives(pairs, logs, None if reference is None else margins),
                answers=_answers(rows),
                gain=None if reference is None else _gain(rows, first_rows),
            )
        )
        reference = reference or (logs, rows)
    if not figures:
        raise InputError("there is no policy to compare; give a model")
    return Comparison(len(pairs), len(asked), len({item.question_id for item in asked}), tuple(figures))


def prompts_of(pairs: Sequence[Pair]) -> tuple[Prompt, ...]:
    """The prompts of pairs, each once."""
    return tuple(
        Prompt(prompt=pair.prompt, question_id=pair.question_id, question=pair.question, answers=pair.answers, k=pair.k)
        for pair in {pair.prompt: pair for pair in pairs}.values()
    )


def spread(values: NDArray[np.float64]) -> Spread:
    """The five figures of a distribution: minimum, quartiles and maximum.

    Examples
    --------
    >>> spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    Spread(low=1.0, quarter=2.0, median=3.0, three_quarters=4.0, high=5.0)
    """
    return Spread(*(float(each) for each in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))))


def _negatives(
    pairs: Sequence[Pair], logs: NDArray[np.float64], margins: NDArray[np.float64] | None
) -> tuple[NegativeFigures, ...]:
    kinds = np.array([pair.negative for pair in pairs])
    figures = []
    for kind in NEGATIVES:
        some = kinds == kind
        if some.any():
            figures.append(
                NegativeFigures(
                    kind,
                    int(some.sum()),
                    float(np.mean(logs[some, 0] > logs[some, 1])),
                    None if margins is None else float(np.mean(margins[some] > 0)),
                    0.0 if margins is None else float(margins[some].mean()),
                )
            )
    return tuple(figures)


def _rows(prompts: Sequence[Prompt], replies: Sequence[str]) -> list[_Row]:
    rows = []
    for item, reply in zip(prompts, replies, strict=True):
        parts = parts_of(reply)
        short = parts.answer if parts else reply.strip()
        right = exact_match(short, item.answers), f1(short, item.answers)
        rows.append(_Row(item.question_id, item.k, *right, has_answer([reply], item.answers), float(parts is not None)))
    return rows


def _answers(rows: Sequence[_Row]) -> tuple[AnswerFigures, ...]:
    by_k: dict[int, list[tuple[float, ...]]] = {}
    for row in rows:
        by_k.setdefault(row.k, []).append(row[2:])
    return tuple(AnswerFigures(k, len(some), *map(float, np.mean(some, axis=0))) for k, some in sorted(by_k.items()))


def _gain(rows: Sequence[_Row], first: Sequence[_Row]) -> Difference | None:
    """F1 of each question, over its numbers of contexts, against that of the untrained model."""
    values: dict[str, list[tuple[float, float]]] = {}
    for row, before in zip(rows, first, strict=True):
        values.setdefault(row.question, []).append((row.f1, before.f1))
    if len(values) < _LEAST:
        return None
    return Resamples(np.array([np.mean(some, axis=0) for some in values.values()])).difference(0, 1)


# The comparison of a model with its trained adapters, from files.


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How policies are compared.

    Attributes
    ----------
    limit : number of pairs to compare, from the first; None: all
    ask : number of questions to answer, from the first; None: all; 0: none
    answer_tokens : limit of one answer, in tokens
    beta : of the losses that are reported
    device : ``cpu``, ``cuda``, or ``auto``: a GPU if there is one
    """

    limit: int | None = None
    ask: int | None = None
    answer_tokens: int = 200
    beta: float = BETA
    device: str = "auto"


def compare_adapters(
    path: str | Path, model: str, *, adapters: Sequence[str] = (), options: CompareOptions | None = None
) -> Comparison:
    """The comparison of the untrained model with trained adapters on the held-out pairs of a folder or file.

    Logs a warning if pairs are longer than the model reads.

    Parameters
    ----------
    path : the pairs
    model : see :func:`hlgraph.align.train.load`
    adapters : each as ``NAME=DIR``
    options : default: the defaults

    Raises
    ------
    MissingExtraError
        The extra ``align`` is not installed.
    InputError
        There is no pair, a name is taken, or the model or an adapter cannot be loaded.
    ReadError
        A file cannot be read.
    """
    chosen = options or CompareOptions()
    folders = adapter_folders(adapters)
    pairs = read_pairs(path, held_out=True)[: chosen.limit]

    def policy(name: str) -> TransformersPolicy:
        loaded = load(model, device=chosen.device)
        if name == UNTRAINED and (reason := beyond_reach(loaded, pairs)):
            _LOG.warning("%s; their figures are worth little", reason)
        return TransformersPolicy(with_adapter(loaded, folders[name]) if name in folders else loaded)

    return compare(
        pairs,
        [(name, partial(policy, name)) for name in (UNTRAINED, *folders)],
        prompts=prompts_for(path, pairs, most=chosen.ask),
        answer_tokens=0 if chosen.ask == 0 else chosen.answer_tokens,
        beta=chosen.beta,
    )


def prompts_for(path: str | Path, pairs: Sequence[Pair], *, most: int | None) -> list[Prompt]:
    """The prompts of at most ``most`` questions, from prompts.jsonl beside the pairs if it exists, otherwise from the pairs.

    Parameters
    ----------
    path : the pairs
    pairs : what they are
    most : number of questions; None: all
    """
    prompts = prompts_beside(path) or prompts_of(pairs)
    questions = set(list(dict.fromkeys(item.question_id for item in prompts))[:most])
    return [item for item in prompts if item.question_id in questions]


def adapter_folders(given: Sequence[str]) -> dict[str, Path]:
    """The folders of adapters by name, from NAME=DIR. All must exist, which is checked before the long comparison."""
    folders: dict[str, Path] = {}
    for text in given:
        name, sign, folder = text.partition("=")
        if not sign or not name or not folder or name == UNTRAINED or name in folders:
            raise InputError(f"--adapter {text!r}: write NAME=DIR, each name once, and none is {UNTRAINED}")
        folders[name] = adapter_in(folder)
    return folders
