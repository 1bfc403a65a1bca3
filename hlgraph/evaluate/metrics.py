"""Measures of ranked ids against the ids that should be there. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hlgraph.errors import InputError

CUTOFFS = (2, 5, 10, 20)
MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"all_gold@{k}" for k in CUTOFFS))
"""The names of the measures of a question, in the order of `measured`."""

Judged = tuple[Sequence[str], Collection[str]]
"""The ids that a search gave, best first, and the gold ids."""

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Scores:
    """Measures of a group of questions, each a share from 0 to 1.

    Attributes
    ----------
    questions
        How many there are.
    recall
        By cutoff k: |first k and gold| / |gold|, averaged over questions.
    all_gold
        By cutoff k: the share of questions whose gold is all among the first k.
    """

    questions: int
    recall: Mapping[int, float]
    all_gold: Mapping[int, float]

    def by_name(self) -> dict[str, float]:
        """The measures by the names of ``MEASURES``, from 0 to 1."""
        return {
            **{f"recall@{k}": share for k, share in self.recall.items()},
            **{f"all_gold@{k}": share for k, share in self.all_gold.items()},
        }


def recall_at(ranked: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """The share of the gold among the first k; an id ranked twice takes two places and counts once.

    Examples
    --------
    >>> recall_at(["a", "b", "c"], {"a", "c", "d", "e"}, k=2)
    0.25
    """
    if not gold:
        raise InputError("recall is undefined where no id is gold; give each question one at least")
    wanted = set(gold)
    return len(wanted.intersection(ranked[:k])) / len(wanted)


def has_all_at(ranked: Sequence[str], gold: Collection[str], *, k: int) -> bool:
    """Whether all gold is among the first k."""
    return recall_at(ranked, gold, k=k) == 1.0


def measured(ranked: Sequence[str], gold: Collection[str]) -> tuple[float, ...]:
    """All measures of one question, in the order of ``MEASURES``; that of `has_all_at` is 0 or 1.

    Examples
    --------
    >>> dict(zip(MEASURES, measured(["a", "x", "b"], {"a", "b"})))["recall@2"]
    0.5
    """
    recall = [recall_at(ranked, gold, k=k) for k in CUTOFFS]
    return (*recall, *(float(share == 1.0) for share in recall))


def score(judged: Sequence[Judged]) -> Scores:
    """The measures of some questions.

    Raises
    ------
    InputError
        There is no question, or one without gold.

    Examples
    --------
    >>> score([(["a", "b"], {"a"}), (["x"], {"y"})]).recall[2]
    0.5
    """
    count = len(judged)
    if not count:
        raise InputError("no question to score")
    recall = {k: math.fsum(recall_at(ranked, gold, k=k) for ranked, gold in judged) / count for k in CUTOFFS}
    all_gold = {k: sum(has_all_at(ranked, gold, k=k) for ranked, gold in judged) / count for k in CUTOFFS}
    return Scores(count, recall, all_gold)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items by key, keys and items in the order in which they come.

    Examples
    --------
    >>> grouped(["bb", "a", "cc"], len)
    {2: ['bb', 'cc'], 1: ['a']}
    """
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share lies, interpolated linearly between the two nearest values.

    With n sorted values x, it is x at (n - 1) * share, counted from 0, fractions between neighbours (type 7 of Hyndman
    and Fan, the default of numpy and R).

    Parameters
    ----------
    values
        In any order, at least one.
    share
        0 to 1: 0.5 is the median.

    Examples
    --------
    >>> percentile([30.0, 10.0, 20.0, 40.0], 0.5)
    25.0

    References
    ----------
    Hyndman, Fan: Sample Quantiles in Statistical Packages. The American Statistician 50 (1996).
    """
    if not values or not 0 <= share <= 1:
        raise InputError(f"a percentile needs values and a share from 0 to 1: {len(values)} values, share {share}")
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = math.floor(place)
    high = math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
