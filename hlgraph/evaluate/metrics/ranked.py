"""Measures of rankings by ir-measures (extra ``eval``): nDCG, AP, RR, P, R, Success and Rprec, with or without a cutoff.

References
----------
MacAvaney, Macdonald, Ounis: Streamlining Evaluation with ir-measures. ECIR (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import MissingExtraError, UnknownNameError
from hlgraph.evaluate.metrics.retrieval import Judged

if TYPE_CHECKING:
    from ir_measures import Measure

FAMILIES = ("nDCG", "AP", "RR", "P", "R", "Success", "Rprec")
"""The measures that are taken; all are shares from 0 to 1 and need no graded relevance."""


_LIST = ", "


def check_names(names: Sequence[str], *, others: Sequence[str] = ()) -> None:
    """Check that measures can be computed.

    Parameters
    ----------
    names : such as ``nDCG@10``, ``AP`` or ``RR``
    others : names of measures that are no measures of rankings, which an error names, too; default none

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
    found = np.zeros((len(judged), len(names)), dtype=np.float64)
    if not measures or not judged:
        return found
    import ir_measures

    runs, golds = [], []
    for number, (ranked, gold) in enumerate(judged):
        golds += [ir_measures.Qrel(str(number), name, 1) for name in sorted(gold)]
        first = dict.fromkeys(ranked)
        runs += [ir_measures.ScoredDoc(str(number), name, -float(place)) for place, name in enumerate(first)]
    place_of = {measure: place for place, measure in enumerate(measures)}
    for item in ir_measures.iter_calc(measures, golds, runs):
        found[int(item.query_id), place_of[item.measure]] = item.value
    return found


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
