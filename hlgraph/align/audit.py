"""Audit pairs of answers before a model is trained on them: length, copies, leakage, balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hlgraph.align.pairs import Pair, named, parts_of
from hlgraph.answer.citations import MARK
from hlgraph.errors import InputError
from hlgraph.evaluate.figures import Table, Tabled
from hlgraph.evaluate.metrics import normalised
from hlgraph.text import sentences

MOST_AUC = 0.95
"""From this AUC of length alone, training would teach nothing but length."""
_FEW = 0.1
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the pairs.

    Attributes
    ----------
    name : short name, such as ``leaks_sources``
    message : what is wrong, with the names, and what to do about it
    breaks_training : training or evaluation on these pairs would be meaningless; otherwise the finding is a warning
    """

    name: str
    message: str
    breaks_training: bool


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of answers in characters: quantiles 5, 25, 50, 75 and 95 %."""

    chosen: tuple[float, ...]
    rejected: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LengthFigures:
    """How well length alone predicts the preferred answer.

    Attributes
    ----------
    longer : share of the pairs whose preferred answer is the longer one
    auc : probability that the preferred answer is longer, with ties counted as one half
    quantiles : of the lengths
    """

    longer: float
    auc: float
    quantiles: Lengths


@dataclass(frozen=True, slots=True)
class Audit(Tabled):
    """The result of an audit.

    Attributes
    ----------
    pairs, held_out : number of pairs for training and held out
    length : over all pairs for training
    length_by_negative : by kind of the rejected answer
    copies : number of pairs whose two answers are equal, of pairs that repeat another one, of answers that contradict each
        other, and of pairs whose reason is quoted: apart from its marks, it stands word for word in the prompt
    balance : number of pairs by negative, k, type, hops and model, each by value
    findings : what is wrong, the worst first
    """

    pairs: int
    held_out: int
    length: LengthFigures
    length_by_negative: Mapping[str, LengthFigures]
    copies: Mapping[str, int]
    balance: Mapping[str, Mapping[str, int]]
    findings: tuple[Finding, ...]

    @property
    def breaks_training(self) -> bool:
        """Whether any finding breaks training."""
        return any(item.breaks_training for item in self.findings)

    def tables(self) -> list[Table]:
        """The findings."""
        rows = tuple(("broken" if item.breaks_training else "warning", item.message) for item in self.findings)
        title = f"{self.pairs:,} pairs for training, {self.held_out:,} held out; AUC of length {self.length.auc:.3f}"
        return [Table(title, ("finding", "what is wrong"), rows)]


def audit(train: Sequence[Pair], test: Sequence[Pair] = (), *, most_auc: float = MOST_AUC) -> Audit:
    """The audit of pairs.

    Parameters
    ----------
    train : pairs for training
    test : held-out pairs, for leakage; default: none
    most_auc : AUC of length alone from which training is considered broken, at least 0.5; a value above 1 turns the check off
        (the paper's pairs, whose rejected answers are all bare, have 1)

    Raises
    ------
    InputError
        There is no pair, or the AUC is below 0.5.
    """
    if not train:
        raise InputError("there is no pair to audit; make some with: hlgraph align make")
    if most_auc < 0.5:
        raise InputError(f"the largest AUC of length is {most_auc}; 0.5 is chance, so give at least that")
    chosen = {(pair.prompt, normalised(pair.chosen)) for pair in train}
    copies = {
        "equal_answers": sum(normalised(pair.chosen) == normalised(pair.rejected) for pair in train),
        "repeated": len(train) - len({(pair.prompt, pair.chosen, pair.rejected) for pair in train}),
        "contradicting": len(chosen & {(pair.prompt, normalised(pair.rejected)) for pair in train}),
        "quoted": sum(_is_quoted(pair) for pair in train),
    }
    length = length_figures(train)
    findings = [
        *_leaks(train, test),
        *_copies(copies, len(train), sum(pair.k > 0 for pair in train)),
        *_forms(train),
        *_length(length, most_auc),
        *_balance(train, test),
    ]
    return Audit(
        pairs=len(train),
        held_out=len(test),
        length=length,
        length_by_negative={
            kind: length_figures([pair for pair in train if pair.negative == kind])
            for kind in sorted({pair.negative for pair in train})
        },
        copies=copies,
        balance=balance_of(train),
        findings=tuple(sorted(findings, key=lambda item: not item.breaks_training)),
    )


def length_figures(pairs: Sequence[Pair]) -> LengthFigures:
    """How well length alone predicts the preferred answers of these pairs; at least one pair."""
    lengths = np.array([(len(pair.chosen), len(pair.rejected)) for pair in pairs], dtype=np.float64)
    longer = float(np.mean(lengths[:, 0] > lengths[:, 1]))
    equal = float(np.mean(lengths[:, 0] == lengths[:, 1]))
    quantiles = np.quantile(lengths, _QUANTILES, axis=0).T
    return LengthFigures(longer, longer + equal / 2, Lengths(*(tuple(map(float, row)) for row in quantiles)))


def balance_of(pairs: Sequence[Pair]) -> dict[str, dict[str, int]]:
    """The number of pairs by negative, k, type, hops and model, each by value."""
    return {
        name: dict(sorted(Counter(str(getattr(pair, name)) for pair in pairs).items()))
        for name in ("negative", "k", "type", "hops", "model")
    }


def leaking_sources(train: Iterable[Pair], test: Iterable[Pair]) -> list[str]:
    """The gold sources of held-out pairs that a pair for training shows or rests on, ascending.

    Parameters
    ----------
    train : pairs for training
    test : held-out pairs
    """
    shown: frozenset[str] = frozenset().union(*(pair.sources for pair in train))
    wanted: frozenset[str] = frozenset().union(*(pair.gold_sources for pair in test))
    return sorted(shown & wanted)


def check_no_leak(train: Sequence[Pair], test: Sequence[Pair]) -> None:
    """Raise InputError, naming the sources or questions, if held-out pairs leak into training.

    Parameters
    ----------
    train : pairs for training
    test : held-out pairs
    """
    leak = next((item for item in _leaks(train, test) if item.breaks_training), None)
    if leak is not None:
        raise InputError(leak.message)


def _leaks(train: Sequence[Pair], test: Sequence[Pair]) -> Iterator[Finding]:
    if sources := leaking_sources(train, test):
        message = (
            f"the split leaks: {len(sources)} sources that held-out answers rest on are shown in training: "
            f"{named(sources)}; make the pairs again, all from one split"
        )
        yield Finding("leaks_sources", message, breaks_training=True)
    asked = {normalised(pair.question) for pair in train}
    if twice := sorted({pair.question_id for pair in test if normalised(pair.question) in asked}):
        message = f"the split leaks: {len(twice)} held-out questions are asked in training: {named(twice)}; remove them"
        yield Finding("leaks_questions", message, breaks_training=True)


def _copies(copies: Mapping[str, int], count: int, shown: int) -> Iterator[Finding]:
    equal, repeated, contradicting, quoted = copies.values()
    if equal:
        message = f"in {equal} pairs both answers are the same; remove them"
        yield Finding("equal_answers", message, breaks_training=True)
    if contradicting:
        message = f"{contradicting} answers are preferred in one pair of a prompt and rejected in another; remove one"
        yield Finding("contradicting", message, breaks_training=True)
    if repeated:
        message = f"{repeated} of {count} pairs repeat another one, which then counts more; remove them"
        yield Finding("repeated", message, breaks_training=False)
    if quoted > shown / 2:
        message = (
            f"the reasons of {quoted} of {shown} pairs with contexts are quoted from them word for word: a model can "
            "learn to copy; let a better model, or several, write them (--chat)"
        )
        yield Finding("quoted", message, breaks_training=False)


def _forms(train: Sequence[Pair]) -> Iterator[Finding]:
    if wrong := [pair.id for pair in train if parts_of(pair.chosen) is None]:
        message = f"{len(wrong)} preferred answers are not a reason and an answer: {named(wrong)}; make them again"
        yield Finding("form", message, breaks_training=True)


def _length(length: LengthFigures, most: float) -> Iterator[Finding]:
    if length.auc >= most:
        message = (
            f"length alone tells the preferred answer with an AUC of {length.auc:.3f} (at least {most:g}): a model can learn to "
            "write more, and nothing else; add rejected answers of the same length (--negatives citation,other)"
        )
        yield Finding("length", message, breaks_training=True)


def _balance(train: Sequence[Pair], test: Sequence[Pair]) -> Iterator[Finding]:
    if not test:
        message = "no held-out pairs lie beside these, so leakage was not looked for"
        yield Finding("no_held_out", message, breaks_training=False)
    for name, counts in balance_of(train).items():
        if rare := [value or "unknown" for value, count in counts.items() if count < _FEW * len(train) / len(counts)]:
            message = f"few pairs have the {name} {named(rare)}: less than a tenth of an equal share"
            yield Finding(f"balance_{name}", message, breaks_training=False)


def _is_quoted(pair: Pair) -> bool:
    """Whether the pair has contexts and its prompt contains every sentence of the reason."""
    parts = parts_of(pair.chosen)
    if parts is None or not pair.k:
        return False
    reason = MARK.sub("", parts.reason)
    said = [normalised(reason[start:end]) for start, end in sentences(reason)]
    shown = f" {normalised(pair.prompt)} "
    return all(f" {words} " in shown for words in said if words)
