"""Formats the results of an evaluation: as JSON data, as lines, and as a folder with tables, data and a plot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hlgraph.errors import InputError
from hlgraph.evaluate.comparison import Comparison, Uncertainty, best
from hlgraph.evaluate.figures import (
    MEASURE,
    Table,
    against_table,
    as_lines,
    as_markdown,
    figures_table,
    group_tables,
    runs_table,
)
from hlgraph.evaluate.metrics import Scores
from hlgraph.evaluate.plots import Axis, Point, Series, chart
from hlgraph.evaluate.runner import EvalReport, StrategyResult
from hlgraph.evaluate.runs import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The complete results of an evaluation.

    Attributes
    ----------
    report : the outcomes and their measures
    uncertainty : confidence intervals, and differences of strategies
    setting : the configuration of the run
    corpus, asked : fingerprints of the passages and of the questions
    against : the strategy that the others are compared with in tables
    earlier : this run minus an earlier one, empty without one
    changes : differences between the configurations of the two runs, one line each
    """

    report: EvalReport
    uncertainty: Uncertainty
    setting: Setting
    corpus: str
    asked: str
    against: str
    earlier: tuple[Comparison, ...] = ()
    changes: tuple[str, ...] = ()

    def tables(self) -> list[Table]:
        """All tables, the overall figures first."""
        tables = [figures_table(self.report)]
        if len(self.report.strategies) > 1:
            tables.append(against_table(self.report, self.uncertainty, against=self.against))
        tables.extend(group_tables(self.report))
        if self.earlier:
            tables.append(runs_table(self.earlier, title="this run against the earlier one: paired bootstrap"))
        return tables

    def notes(self) -> list[str]:
        """Lines on the configuration of the run, its changes since the earlier run, and failures."""
        setting = self.setting
        lines = [
            f"extraction: {setting.extraction}; preset: {setting.preset}; embedder: {setting.embedder}; "
            f"reranker: {setting.reranker}; store: {setting.store}",
            f"corpus {self.corpus[:12]}, questions {self.asked[:12]}",
        ]
        lines.extend(f"changed since the earlier run: {change}" for change in self.changes)
        for name, result in self.report.strategies.items():
            lines.extend(f"{name} failed on {count} questions: {error}" for error, count in result.errors.items())
        return lines


def default_against(report: EvalReport, against: str | None) -> str:
    """The strategy to compare with: the one requested, else the best one.

    Parameters
    ----------
    report : the evaluation
    against : name of a strategy, or None for the best

    Raises
    ------
    InputError
        The evaluation did not ask that strategy.
    """
    if against is None:
        return best(report, MEASURE)
    if against not in report.strategies:
        raise InputError(
            f"{against!r} is not among the strategies asked; compare with one of: {', '.join(report.strategies)}"
        )
    return against


def as_text(results: Results) -> list[str]:
    """All tables and notes as lines for a terminal."""
    lines: list[str] = []
    for table in results.tables():
        lines.extend((*as_lines(table), ""))
    return [*lines, *results.notes()]


def as_tree(results: Results) -> dict[str, object]:
    """All results as JSON data: measures and differences in per cent with two decimals, times in milliseconds with three.

    Each strategy has ``recall@2`` to ``recall@20``, ``all_gold@2`` to ``all_gold@20``, ``p50_ms``, ``p95_ms``, ``p99_ms``,
    ``cpu_ms`` (median CPU time of this process), ``round_trips``, ``rows`` and ``bytes`` (means per question), ``failed``,
    ``errors``, ``intervals`` (95 %, by measure), and the measures by hops, type and subset. Times and means are null if
    no question was answered.
    """
    report = results.report
    return {
        "dataset": report.dataset,
        "questions": len(report.questions),
        "strategies": {
            name: _strategy_tree(result, results.uncertainty, name) for name, result in report.strategies.items()
        },
        "differences": [_comparison_tree(item) for item in results.uncertainty.pairs],
        "earlier": [_comparison_tree(item) for item in results.earlier],
        "changes": list(results.changes),
        "against": results.against,
        "preset": results.setting.preset,
        "setting": asdict(results.setting),
        "fingerprints": {"corpus": results.corpus, "questions": results.asked},
    }


def _strategy_tree(result: StrategyResult, found: Uncertainty, name: str) -> dict[str, object]:
    figures = result.figures
    return {
        **_percents(result.scores.by_name()),
        "p50_ms": _rounded(figures.p50_ms, 3),
        "p95_ms": _rounded(figures.p95_ms, 3),
        "p99_ms": _rounded(figures.p99_ms, 3),
        "cpu_ms": _rounded(figures.cpu_ms, 3),
        "round_trips": _rounded(figures.round_trips, 2),
        "rows": _rounded(figures.rows, 1),
        "bytes": _rounded(figures.bytes, 0),
        "failed": figures.failed,
        "errors": result.errors,
        "intervals": {
            measure: [round(100 * interval.low, 2), round(100 * interval.high, 2)]
            for measure, interval in found.intervals[name].items()
        },
        "by_hops": _groups({str(key): scores for key, scores in result.by_hops.items()}),
        "by_type": _groups(result.by_type),
        "by_subset": _groups(result.by_subset),
    }


def _groups(groups: Mapping[str, Scores]) -> dict[str, dict[str, float | int]]:
    return {key: {"questions": scores.questions, **_percents(scores.by_name())} for key, scores in groups.items()}


def _comparison_tree(item: Comparison) -> dict[str, object]:
    found = item.difference
    return {
        "measure": item.measure,
        "a": item.a,
        "b": item.b,
        "difference": round(100 * found.mean, 2),
        "low": round(100 * found.low, 2),
        "high": round(100 * found.high, 2),
        "p": round(found.p, 4),
        "is_noise": found.is_noise,
    }


def _percents(measures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(100 * share, 2) for name, share in measures.items()}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def plot(results: Results) -> str:
    """An SVG plot of recall with its interval against latency, one point per strategy."""
    series = []
    for name, result in results.report.strategies.items():
        interval = results.uncertainty.intervals[name][MEASURE]
        if result.figures.p50_ms is not None:
            point = Point(result.figures.p50_ms, *(100 * value for value in interval))
            series.append(Series(name, (point,)))
    title = f"{results.report.dataset}: {MEASURE} (95 % interval) against latency"
    return chart(
        series, title, x=Axis("milliseconds per question, median", is_log=True), y=Axis(f"{MEASURE}, per cent")
    )


def write_folder(results: Results, folder: str | Path) -> list[Path]:
    """Write ``table.md``, ``results.json`` and ``recall_latency.svg`` to a folder, and return their paths.

    Parameters
    ----------
    results : the results
    folder : created if it does not exist

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    root = Path(folder)
    lines = [f"# {results.report.dataset}", "", *(f"- {line}" for line in results.notes()), ""]
    for table in results.tables():
        lines.extend((*as_markdown(table), ""))
    lines.extend(("![recall against latency](recall_latency.svg)", ""))
    contents = {
        "table.md": "\n".join(lines),
        "results.json": f"{json.dumps(as_tree(results), ensure_ascii=False, indent=2)}\n",
        "recall_latency.svg": plot(results),
    }
    return write_files(root, contents)


def write_files(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Write text files to a folder, and return their paths.

    Parameters
    ----------
    folder : created if it does not exist
    contents : texts by file name

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}; give a writable folder") from error
    return [folder / name for name in contents]
