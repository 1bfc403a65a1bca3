"""Tables and JSON data of paired comparisons. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hlgraph.evaluate.figures import POINT_NAMES, POINTS, Table, difference_cells, interval_cells, needed_cells, percent
from hlgraph.evaluate.metrics.retrieval import grouped
from hlgraph.evaluate.metrics.significance import needed_questions
from hlgraph.evaluate.pairing import Paired, Values, paired

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Question

_VIEWS = ("hops", "type", "subset")
_FEWEST = 6  # fewer questions give no p below 0.05, whatever they show


def paired_table(found: Mapping[str, Mapping[str, Paired]], *, title: str, against: str) -> Table:
    """Every strategy in every measure, and its difference from one of them; p (Holm) is corrected for all strategies.

    Parameters
    ----------
    found : comparisons by measure and strategy
    title : title of the table
    against : the strategy to compare with
    """
    head = (
        "strategy",
        "measure",
        "questions",
        "mean",
        "95 % interval",
        f"minus {against}",
        "95 % interval ",
        "p",
        "p (Holm)",
    )
    rows = []
    for name in next(iter(found.values()), {}):
        for measure, items in found.items():
            item = items[name]
            own = ("-", "-") if item.own is None else interval_cells(item.own)
            rows.append((name, measure, str(item.questions), *own, *_tested(item)))
    return Table(title, (*head, "", *POINT_NAMES), tuple(rows))


def _tested(item: Paired) -> tuple[str, ...]:
    if item.difference is None:
        return ("",) * (5 + len(POINTS))
    mean, bounds, _, noise = difference_cells(item.difference)
    return mean, bounds, f"{item.p:.4f}", f"{item.corrected:.4f}", noise, *needed_cells(item.deviation)


def groupings(questions: Sequence[Question]) -> dict[str, dict[str, list[int]]]:
    """Places of questions by hops, type and subset; a grouping with one group is left out.

    Parameters
    ----------
    questions : the questions
    """
    found = {}
    for view in _VIEWS:
        groups = grouped(range(len(questions)), lambda at, view=view: getattr(questions[at], view))  # type: ignore[misc]
        if len(groups) > 1:
            found[view] = {str(key or "none"): groups[key] for key in sorted(groups)}
    return found


def group_tables(
    questions: Sequence[Question], values: Mapping[str, Values], *, measure: str, against: str
) -> list[Table]:
    """One measure by hops, type and subset of the question, with the paired difference within the group.

    Parameters
    ----------
    questions : the questions
    values : values of the measure by strategy, one a question
    measure : name of the measure
    against : the strategy to compare with
    """
    tables = []
    for view, groups in groupings(questions).items():
        found = by_group(values, groups, against=against)
        head = ("strategy", *(f"{key} ({len(places)})" for key, places in groups.items()))
        rows = tuple((name, *(_group_cell(found[key][name]) for key in groups)) for name in values)
        minus = f"; +/-: minus {against}, in brackets: noise" if len(values) > 1 else ""
        tables.append(Table(f"{measure} by {view} (questions){minus}", head, rows))
    return tables


def by_group(
    values: Mapping[str, Values], groups: Mapping[str, Sequence[int]], *, against: str
) -> dict[str, dict[str, Paired]]:
    """The comparison of the strategies within each group of questions, without permutation tests.

    Parameters
    ----------
    values : values of a measure by strategy, one a question
    groups : places of questions by name of the group
    against : the strategy to compare with
    """
    return {
        key: paired({name: item[list(places)] for name, item in values.items()}, against=against, is_tested=False)
        for key, places in groups.items()
    }


def _group_cell(item: Paired) -> str:
    if item.own is None:
        return "-"
    if item.difference is None:
        return percent(item.own.mean)
    mean, _, _, noise = difference_cells(item.difference)
    is_noise = noise or item.questions < _FEWEST
    return f"{percent(item.own.mean)} {f'({mean})' if is_noise else mean}"


def paired_tree(found: Mapping[str, Mapping[str, Paired]], against: str | None) -> dict[str, object]:
    """Means, intervals and differences as JSON data, in per cent with two decimals.

    Parameters
    ----------
    found : comparisons by measure and strategy
    against : the strategy that the others are compared with
    """
    strategies: dict[str, dict[str, object]] = {}
    differences: list[dict[str, object]] = []
    for measure, items in found.items():
        for name, item in items.items():
            own = None if item.own is None else [round(100 * value, 2) for value in item.own]
            strategies.setdefault(name, {})[measure] = {
                "questions": item.questions,
                "mean": own and own[0],
                "interval": own and own[1:],
            }
            if (other := item.difference) is not None:
                differences.append(
                    {
                        "measure": measure,
                        "a": name,
                        "b": against,
                        **{key: round(100 * getattr(other, key), 2) for key in ("mean", "low", "high")},
                        "is_noise": other.is_noise,
                        "p": round(item.p, 4),
                        "p_holm": round(item.corrected, 4),
                        "questions_for_2_points": needed_questions(0.02, item.deviation) if item.deviation else None,
                    }
                )
    return {"strategies": strategies, "differences": differences}
