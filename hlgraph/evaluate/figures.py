"""Formats the results of an evaluation as tables for a terminal or in Markdown. Pure functions."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlgraph.evaluate.answering import AnswerReport
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.metrics import CUTOFFS, MEASURES
from hlgraph.evaluate.runner import Coverage, EvalReport
from hlgraph.evaluate.statistics import (
    FEWEST,
    MEASURE,
    Comparison,
    Difference,
    Interval,
    Paired,
    Uncertainty,
    Values,
    needed_questions,
    paired,
    significance,
)
from hlgraph.records import group_by
from hlgraph.retrieve.explain.svg import escaped

_SHOWN = (*(f"recall@{k}" for k in CUTOFFS), "all_gold@5")
_NOISE = "noise"
POINTS = (1, 2, 5)
"""Differences in percentage points for which tables show how many questions are needed to detect them."""
POINT_NAMES = tuple(f"{points} point{'s' if points > 1 else ''}" for points in POINTS)
"""The heads of the columns for these differences."""


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table with a header; the first column is aligned left, the others right. A notebook shows it as HTML."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        """The lines of the table, as the commands print them."""
        return "\n".join(as_lines(self))

    def _repr_html_(self) -> str:
        return "\n".join(as_html(self))


class Tabled:
    """A result that is printed as its tables, and shown as them in a notebook."""

    __slots__ = ()

    def tables(self) -> list[Table]:
        """The tables of the result."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The tables, with an empty line between two."""
        return "\n\n".join(map(str, self.tables()))

    def _repr_html_(self) -> str:
        return "\n".join(line for table in self.tables() for line in as_html(table))


def as_lines(table: Table) -> list[str]:
    """The lines of a table for a terminal.

    Examples
    --------
    >>> print("\\n".join(as_lines(Table("", ("name", "ms"), (("a", "1.5"), ("long", "10"))))))
    name   ms
    a     1.5
    long   10
    """
    cells = [table.head, *table.rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(table.head))]
    lines = [table.title] if table.title else []
    for row in cells:
        first, *others = (
            f"{cell:<{width}}" if not at else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join((first, *others)).rstrip())
    return lines


def as_markdown(table: Table) -> list[str]:
    """The lines of a table in Markdown.

    Examples
    --------
    >>> print("\\n".join(as_markdown(Table("", ("name", "ms"), (("a|b", "1.5"),)))))
    | name | ms |
    |---|---:|
    | a\\|b | 1.5 |
    """
    lines = [f"### {table.title}", ""] if table.title else []
    lines.append(_row(table.head))
    lines.append(f"|{'|'.join('---' if not at else '---:' for at in range(len(table.head)))}|")
    return [*lines, *map(_row, table.rows)]


def as_html(table: Table, *, base: str = "") -> Iterator[str]:
    """The lines of a table in HTML, with the title as a heading.

    Parameters
    ----------
    table : the table
    base : first cell of the row that the others are compared with; default none
    """
    title = escaped(table.title)
    heading = f"<h3>{title}</h3>" if title else ""
    yield f'{heading}<div class="wide" tabindex="0" role="region" aria-label="{title}"><table><thead><tr>'
    yield "".join(f'<th scope="col">{escaped(name.strip())}</th>' for name in table.head)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = "".join(f"<td{' class=noise' if _is_noise(cell) else ''}>{escaped(cell)}</td>" for cell in row[1:])
        mark = ' class="base"' if base and row[0] == base else ""
        yield f'<tr{mark}><th scope="row"><bdi>{escaped(row[0])}</bdi></th>{cells}</tr>'
    yield "</tbody></table></div>"


def _is_noise(cell: str) -> bool:
    return cell == _NOISE or cell.endswith(")")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def figures_table(report: EvalReport) -> Table:
    """Recall in per cent, latency and data read, by strategy."""
    head = ("strategy", *_SHOWN, "p50_ms", "p95_ms", "p99_ms", "cpu_ms", "round_trips", "rows", "kB", "failed")
    rows = []
    for name, result in report.strategies.items():
        scores, figures = result.scores.by_name(), result.figures
        kilobytes = None if figures.bytes is None else figures.bytes / 1000
        numbers = (*figures[:3], figures.cpu_ms, figures.round_trips, figures.rows, kilobytes)
        shown = (_number(value, digits) for value, digits in zip(numbers, (2, 2, 2, 2, 1, 0, 1), strict=True))
        rows.append((name, *(percent(scores[measure]) for measure in _SHOWN), *shown, str(figures.failed)))
    return Table(
        f"{report.dataset}, {len(report.questions)} questions; recall and all_gold in per cent", head, tuple(rows)
    )


def coverage_table(coverage: Mapping[str, Coverage]) -> Table:
    """What the strategies retrieve, by strategy."""
    rows = tuple(
        (name, f"{own.passages:.1f}", f"{own.topics:.1f}", percent(own.sources)) for name, own in coverage.items()
    )
    title = "what is retrieved: means per question, and the share of all sources in per cent"
    return Table(title, ("strategy", "passages", "topics", "of all sources"), rows)


def against_table(report: EvalReport, found: Uncertainty, *, against: str, measure: str = MEASURE) -> Table:
    """Each strategy with its interval and its difference from one of them; noise is marked, see :class:`Difference`.

    Parameters
    ----------
    report : the evaluation
    found : its intervals and differences
    against : the strategy to compare with
    measure : the measure compared, default ``recall@5``
    """
    head = (
        *("strategy", measure, "95 % interval", f"minus {against}", "95 % interval ", "p", ""),
        *("all_gold@5", "95 % interval  "),
    )
    rows = []
    for name in report.strategies:
        own = found.intervals[name]
        difference = found.between(measure, name, b=against)
        compared = ("", "", "", "") if difference is None else difference_cells(difference)
        rows.append((name, *interval_cells(own.get(measure)), *compared, *interval_cells(own.get("all_gold@5"))))
    noise = f"noise: the interval contains 0, or fewer than {FEWEST} questions"
    title = f"{measure} against {against}: paired bootstrap over questions; {noise}"
    return Table(title, head, tuple(rows))


def significance_table(report: EvalReport, *, against: str, measure: str = MEASURE) -> Table:
    """Each other strategy tested against one of them: permutation test, Holm's correction, and the questions it takes.

    Parameters
    ----------
    report : the evaluation
    against : the strategy to compare with
    measure : the measure compared, default ``recall@5``
    """
    head = ("strategy", "p", "p (Holm)", *POINT_NAMES)
    rows = tuple(
        (name, f"{item.p:.4f}", f"{item.corrected:.4f}", *needed_cells(item.deviation))
        for name, item in significance(report, measure, against=against).items()
    )
    title = (
        f"{measure} against {against}: paired permutation test; questions that a difference of 1, 2 and 5 points takes"
    )
    return Table(title, head, rows)


def answers_table(found: AnswerReport) -> Table:
    """The measures of answers in per cent, by strategy.

    Parameters
    ----------
    found : the answers
    """
    head = (
        "strategy",
        "EM",
        "F1",
        "95 % interval",
        "sentence_F1",
        "answer_in_text",
        "answer_recall",
        "refused",
        "failed",
    )
    rows = []
    for name, item in found.strategies.items():
        own, count = found.intervals[name], len(item.outcomes)
        rows.append(
            (
                *(name, interval_cells(own.get("EM"))[0], *interval_cells(own.get("F1"))),
                *(
                    interval_cells(own.get(measure))[0]
                    for measure in ("sentence_F1", "answer_in_text", "answer_recall")
                ),
                percent(sum(outcome.is_refused for outcome in item.outcomes) / count),
                str(item.failed),
            )
        )
    short = "short answers of the chat model" if found.by_chat else "extractive: EM and F1 of the best span"
    golds = "with" if found.questions[0].answers else "without"
    title = f"answers in per cent, {len(found.questions)} questions {golds} gold answers ({short})"
    return Table(title, head, tuple(rows))


def costs_table(found: AnswerReport) -> Table:
    """What an answer costs: calls, tokens and money of the chat model, and seconds, means per question.

    Parameters
    ----------
    found : the answers
    """
    rows = []
    for name, item in found.strategies.items():
        spent, count = item.spent, len(item.outcomes)
        usd = None if spent.usd is None else spent.usd / count
        seconds = sum(outcome.milliseconds for outcome in item.outcomes) / count / 1000
        tokens = (_number(value / count, 1) for value in (spent.calls, spent.input_tokens, spent.output_tokens))
        rows.append((name, *tokens, _number(usd, 6), _number(seconds, 3)))
    return Table(
        "what an answer costs, means per question; a reply that was stored before costs nothing",
        ("strategy", "calls", "tokens in", "tokens out", "USD", "seconds"),
        tuple(rows),
    )


def as_csv(table: Table) -> str:
    """A table as CSV with a header.

    Examples
    --------
    >>> as_csv(Table("", ("name", "text"), (("a", "b, c"),))).splitlines()
    ['name,text', 'a,"b, c"']
    """
    text = io.StringIO()
    csv.writer(text).writerows([table.head, *table.rows])
    return text.getvalue()


def runs_table(comparisons: Sequence[Comparison], *, title: str) -> Table:
    """This run minus an earlier one, by strategy and measure, tested as strategies are.

    Parameters
    ----------
    comparisons : the differences of the two runs
    title : title of the table
    """
    hidden = set(MEASURES) - set(_SHOWN)
    rows = []
    for item in comparisons:
        if item.measure not in hidden and item.tested is not None:
            mean, bounds, _, noise = difference_cells(item.difference)
            tested = (f"{item.tested.p:.4f}", f"{item.tested.corrected:.4f}")
            rows.append((item.a, item.measure, mean, bounds, *tested, noise, *needed_cells(item.tested.deviation)))
    head = ("strategy", "measure", "now minus before", "95 % interval", "p", "p (Holm)", "")
    return Table(title, (*head, *POINT_NAMES), tuple(rows))


def needed_cells(deviation: float) -> tuple[str, ...]:
    """The number of questions that a test needs to find each of ``POINTS``, for differences of this standard deviation."""
    return tuple(str(needed_questions(points / 100, deviation)) if deviation else "-" for points in POINTS)


def interval_cells(interval: Interval | None, bounds: str = "-") -> tuple[str, str]:
    """The mean and the bounds of an interval, in per cent.

    Parameters
    ----------
    interval : the interval; None is shown as ``-``
    bounds : text in place of the bounds of None
    """
    if interval is None:
        return "-", bounds
    return percent(interval.mean), f"{percent(interval.low)} to {percent(interval.high)}"


def difference_cells(found: Difference) -> tuple[str, str, str, str]:
    """The mean and the bounds of a difference in per cent, p, and the word that marks noise."""
    bounds = f"{100 * found.low:+z.2f} to {100 * found.high:+z.2f}"
    return f"{100 * found.mean:+z.2f}", bounds, f"{found.p:.4f}", _NOISE if found.is_noise else ""


def percent(share: float) -> str:
    """A share in per cent, with two decimals; ``-`` if it is undefined."""
    return "-" if math.isnan(share) else f"{100 * share:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


# Tables and JSON data of paired comparisons. Pure functions.


_VIEWS = ("hops", "type", "subset")


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
            rows.append((name, measure, str(item.questions), *interval_cells(item.own), *_tested(item)))
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
    by_view = {}
    for view in _VIEWS:
        groups = group_by(range(len(questions)), lambda at, view=view: getattr(questions[at], view))  # type: ignore[misc]
        if len(groups) > 1:
            by_view[view] = {str(key or "none"): groups[key] for key in sorted(groups)}
    return by_view


def group_tables(
    questions: Sequence[Question], values: Mapping[str, Values], *, measure: str, against: str
) -> list[Table]:
    """One measure by hops, type and subset of the question, with the paired difference within the group.

    Parameters
    ----------
    questions : the questions
    values : values of the measure by strategy, one for each question
    measure : name of the measure
    against : the strategy to compare with
    """
    tables = []
    for view, groups in groupings(questions).items():
        comparisons = by_group(values, groups, against=against)
        head = ("strategy", *(f"{key} ({len(places)})" for key, places in groups.items()))
        rows = tuple((name, *(_group_cell(comparisons[key][name]) for key in groups)) for name in values)
        minus = f"; +/-: minus {against}, in brackets: noise" if len(values) > 1 else ""
        tables.append(Table(f"{measure} by {view} (questions){minus}", head, rows))
    return tables


def by_group(
    values: Mapping[str, Values], groups: Mapping[str, Sequence[int]], *, against: str
) -> dict[str, dict[str, Paired]]:
    """The comparison of the strategies within each group of questions, without permutation tests.

    Parameters
    ----------
    values : values of a measure by strategy, one per question
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
    return f"{percent(item.own.mean)} {f'({mean})' if noise else mean}"


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
