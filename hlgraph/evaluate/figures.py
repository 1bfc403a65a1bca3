"""Formats the results of an evaluation as tables for a terminal or in Markdown. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hlgraph.evaluate.bootstrap import Difference, Interval
from hlgraph.evaluate.comparison import Comparison, Uncertainty
from hlgraph.evaluate.metrics import CUTOFFS, Scores
from hlgraph.evaluate.runner import EvalReport, StrategyResult

MEASURE = "recall@5"
"""The measure by which strategies are compared by default."""
_SHOWN = (*(f"recall@{k}" for k in CUTOFFS), "all_gold@5")
_NOISE = "noise"


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table with a header; the first column is aligned left, the others right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


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


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def figures_table(report: EvalReport) -> Table:
    """Recall in per cent, latency and data read, by strategy."""
    head = ("strategy", *_SHOWN, "p50_ms", "p95_ms", "p99_ms", "cpu_ms", "round_trips", "rows", "kB", "failed")
    rows = tuple((name, *_figure_cells(result)) for name, result in report.strategies.items())
    return Table(f"{report.dataset}, {len(report.questions)} questions", head, rows)


def _figure_cells(result: StrategyResult) -> list[str]:
    scores, figures = result.scores.by_name(), result.figures
    kilobytes = None if figures.bytes is None else figures.bytes / 1000
    return [
        *(_percent(scores[name]) for name in _SHOWN),
        *(_number(value, 2) for value in (figures.p50_ms, figures.p95_ms, figures.p99_ms, figures.cpu_ms)),
        _number(figures.round_trips, 1),
        _number(figures.rows, 0),
        _number(kilobytes, 1),
        str(figures.failed),
    ]


def against_table(report: EvalReport, found: Uncertainty, *, against: str, measure: str = MEASURE) -> Table:
    """Each strategy with its interval and its difference from one of them; an interval that contains 0 is marked noise.

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
        compared = ("", "", "", "") if difference is None else _difference_cells(difference)
        rows.append((name, *_interval_cells(own[measure]), *compared, *_interval_cells(own["all_gold@5"])))
    title = f"{measure} against {against}: paired bootstrap over questions; noise: the interval contains 0"
    return Table(title, head, tuple(rows))


def runs_table(comparisons: Sequence[Comparison], *, title: str) -> Table:
    """This run minus an earlier one, by strategy and measure.

    Parameters
    ----------
    comparisons : the differences of the two runs
    title : title of the table
    """
    rows = tuple(
        (item.a, item.measure, *_difference_cells(item.difference)) for item in comparisons if item.measure in _SHOWN
    )
    return Table(title, ("strategy", "measure", "now minus before", "95 % interval", "p", ""), rows)


def group_tables(report: EvalReport, *, measure: str = MEASURE) -> list[Table]:
    """Tables of one measure by number of hops, type and subset of the question; a grouping with one group is left out.

    Parameters
    ----------
    report : the evaluation
    measure : the measure shown, default ``recall@5``
    """
    views: tuple[tuple[str, Callable[[StrategyResult], Mapping[str, Scores]]], ...] = (
        ("hops", lambda result: {str(key): value for key, value in result.by_hops.items()}),
        ("type", lambda result: result.by_type),
        ("subset", lambda result: result.by_subset),
    )
    tables = []
    for name, view in views:
        groups = {strategy: view(result) for strategy, result in report.strategies.items()}
        keys = list(next(iter(groups.values())))
        if len(keys) < 2:
            continue
        counts = next(iter(groups.values()))
        head = ("strategy", *(f"{key or 'none'} ({counts[key].questions})" for key in keys))
        rows = tuple(
            (strategy, *(_percent(found[key].by_name()[measure]) for key in keys)) for strategy, found in groups.items()
        )
        tables.append(Table(f"{measure} by {name} (questions)", head, rows))
    return tables


def _interval_cells(interval: Interval) -> tuple[str, str]:
    return _percent(interval.mean), f"{_percent(interval.low)} to {_percent(interval.high)}"


def _difference_cells(found: Difference) -> tuple[str, str, str, str]:
    bounds = f"{100 * found.low:+z.2f} to {100 * found.high:+z.2f}"
    return f"{100 * found.mean:+z.2f}", bounds, f"{found.p:.4f}", _NOISE if found.is_noise else ""


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
