"""Whether a judge of pairs is biased: an answer against itself, and the first place against the second.

An answer against itself is won by its first place in half of the readings, if the judge is fair: a tie counts as half. In pairs
that are read in both positions, the first place wins half of them however good the answers are. Both shares have a Wilson
interval over questions; a judge whose interval does not hold 50 % is biased, and nothing is said about winners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlgraph.algorithms.intervals import Share, wilson

LEAST = 4
"""Readings below which not even a judge that always names the first answer could be told from a fair one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a judge reads by one criterion.

    Attributes
    ----------
    criterion : its name
    same, same_count : share of first places that won against the same answer, and the number of questions
    first, first_count : share of first places that won in pairs read in both positions, and the number of questions
    """

    criterion: str
    same: Share
    same_count: int
    first: Share
    first_count: int

    @property
    def reason(self) -> str:
        """Why the report says nothing about winners; empty if it does."""
        if self.same_count < LEAST:
            return (
                f"{self.same_count} readings of an answer against itself are too few to tell whether the judge is biased; "
                f"judge at least {LEAST} questions"
            )
        if not self.same.low <= 0.5 <= self.same.high:
            return (
                f"an answer against itself wins {_shown(self.same)} of {self.same_count} in the first place, not 50 %"
            )
        if self.first_count and not self.first.low <= 0.5 <= self.first.high:
            return f"the first place wins {_shown(self.first)} of {self.first_count} questions read in both positions, not 50 %"
        return ""

    def to_json(self) -> dict[str, object]:
        """The calibration as JSON data; shares from 0 to 1."""
        return {
            "criterion": self.criterion,
            "same": {"questions": self.same_count, **self.same._asdict()},
            "first_place": {"questions": self.first_count, **self.first._asdict()},
            "refused": self.reason,
        }


def calibration_of(criterion: str, *, same: Sequence[float], first: Sequence[float]) -> Calibration:
    """The calibration by one criterion.

    Parameters
    ----------
    criterion : its name
    same : scores of the first place against the same answer, one a question
    first : mean scores of the first place over both positions and all pairs, one a question
    """
    return Calibration(
        criterion=criterion,
        same=wilson(sum(same), len(same)),
        same_count=len(same),
        first=wilson(sum(first), len(first)),
        first_count=len(first),
    )


def _shown(share: Share) -> str:
    return f"{100 * share.share:.0f} % (95 %: {100 * share.low:.0f} to {100 * share.high:.0f})"
