"""Further parts of a report, such as judgements and claims: values of single questions by strategy, notes, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hlgraph.errors import InputError
from hlgraph.evaluate.pairing import Paired, Values, paired

Row = tuple[float | None, ...]
"""The values of one question, one a measure; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Measures of single questions that were taken outside of retrieval.

    Every strategy has one row a question, in the order of ``questions``, and every row one value a measure.

    Attributes
    ----------
    title : what was measured and by whom, such as "correctness, judged by openai/gpt-5-mini"
    questions : ids of the questions
    measures : names of the measures, such as ``correctness``
    values : rows by strategy; a value is from 0 to 1, or None where there is none, such as a reply that could not be read
    notes : lines that belong to the figures, such as the number of replies that could not be read
    """

    title: str
    questions: tuple[str, ...]
    measures: tuple[str, ...]
    values: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises InputError for rows that do not belong to the questions and measures."""
        for name, rows in self.values.items():
            if len(rows) != len(self.questions) or any(len(row) != len(self.measures) for row in rows):
                raise InputError(
                    f"{self.title}: {name} has {len(rows)} rows; give one for each of {len(self.questions)} questions, with "
                    f"one value for each of {len(self.measures)} measures"
                )

    def columns(self, measure: str) -> dict[str, Values]:
        """The values of one measure by strategy, NaN where there is none."""
        place = self.measures.index(measure)
        return {
            name: np.array([np.nan if row[place] is None else row[place] for row in rows], dtype=np.float64)
            for name, rows in self.values.items()
        }

    @property
    def main(self) -> str:
        """The measure that is shown by groups of questions: F1 of answers, else the first."""
        return "F1" if "F1" in self.measures else self.measures[0]


class PairedSection(NamedTuple):
    """A section, and the comparison of its strategies by measure."""

    section: Section
    found: Mapping[str, Mapping[str, Paired]]


def in_pairs(section: Section, against: str | None) -> PairedSection:
    """Compare the strategies of a section with one of them, in every measure.

    Parameters
    ----------
    section : the section
    against : the strategy to compare with; None: nothing is compared
    """
    return PairedSection(
        section, {measure: paired(section.columns(measure), against=against) for measure in section.measures}
    )
