"""Measures of ranked ids against gold ids. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError, MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    from ir_measures import Measure


CUTOFFS = (2, 5, 10, 20)
MEASURES = (*(f"recall@{k}" for k in CUTOFFS), *(f"all_gold@{k}" for k in CUTOFFS))
"""Names of the measures of a question, in the order of :func:`measured`."""

Judged = tuple[Sequence[str], Collection[str]]
"""The ids that a search found, best first, and the gold ids."""

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


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


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items by key; keys and items keep their order.

    Parameters
    ----------
    items : the items to group
    key : computes the key of an item

    Examples
    --------
    >>> grouped(["bb", "a", "cc"], len)
    {2: ['bb', 'cc'], 1: ['a']}
    """
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


# Measures of rankings by ir-measures (extra ``eval``): nDCG, AP, RR, P, R, Success and Rprec, with or without a cutoff.
#
# References
# ----------
# MacAvaney, Macdonald, Ounis: Streamlining Evaluation with ir-measures. ECIR (2022).


FAMILIES = ("nDCG", "AP", "RR", "P", "R", "Success", "Rprec")
"""The supported measures; all are shares from 0 to 1 and need no graded relevance."""


_LIST = ", "


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
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("eval", f"the measure {name}") from error
    family = name.partition("@")[0]
    if family in FAMILIES:
        try:
            return ir_measures.parse_measure(name)
        except (NameError, ValueError, SyntaxError) as error:
            raise UnknownNameError(
                f"no measure {name!r}: {error}; give one such as nDCG@10, AP, RR or Success@5"
            ) from error
    raise UnknownNameError(
        f"no measure {name!r}; give one of {', '.join(FAMILIES)}, with or without @k, such as nDCG@10"
        f"{f', or of answers: {_LIST.join(others)}' if others else ''}"
    )
