"""Tables and files of what judges said."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hlgraph.evaluate.bootstrap import Interval
from hlgraph.evaluate.figures import Table, as_csv
from hlgraph.evaluate.judges.answer_rows import Candidate
from hlgraph.evaluate.judges.judge_report import JudgeReport
from hlgraph.evaluate.judges.labels import to_label


def judge_tables(report: JudgeReport) -> list[Table]:
    """The tables of a report that have rows: verdicts by strategy, pairs, the calibration, and the agreement with people."""
    tables = (answers_judged(report), pairs_judged(report), _calibration(report), _agreement(report))
    return [table for table in tables if table.rows]


def answers_judged(report: JudgeReport) -> Table:
    """The mean verdict on the answers of each strategy, in per cent."""
    rows = [
        (
            item.strategy,
            item.judge,
            *_cells(item.interval),
            str(len(item.values)),
            str(item.unanswered),
            str(sum(item.missing.values())),
        )
        for item in report.answers
    ]
    head = ("strategy", "judge", "mean", "95 % interval", "questions", "unanswered", "missing")
    return Table(f"answers judged by {report.model}", head, tuple(rows))


def pairs_judged(report: JudgeReport) -> Table:
    """The wins of each pair by each criterion; the share counts a tie as half a win, in per cent."""
    rows = []
    for item in report.pairs:
        p = "-" if item.p is None else f"{item.p:.4f}"
        counts = (str(item.wins), str(item.ties), str(item.losses))
        rows.append(
            (
                item.a,
                item.b,
                item.criterion,
                *counts,
                *_cells(item.interval),
                p,
                str(item.missing),
                report.finding(item),
            )
        )
    head = (
        "a",
        "b",
        "criterion",
        "a wins",
        "ties",
        "b wins",
        "share of a",
        "95 % interval",
        "p (Holm)",
        "missing",
        "finding",
    )
    title = f"pairs judged by {report.model}, {report.options.trials} readings each, half of them in each position"
    return Table(title, head, tuple(rows))


def _calibration(report: JudgeReport) -> Table:
    rows = [
        (
            item.criterion,
            *_cells(Interval(*item.same) if item.same_count else None),
            str(item.same_count),
            *_cells(Interval(*item.first) if item.first_count else None),
            str(item.first_count),
            "refused" if item.reason else "holds 50 %",
        )
        for item in report.calibration
    ]
    head = ("criterion", "A against A", "95 % interval", "questions", "first place", "95 % interval ", "questions ", "")
    return Table("is the judge of pairs fair? shares that the first place wins", head, tuple(rows))


def _agreement(report: JudgeReport) -> Table:
    rows = []
    for item in report.agreement:
        found = item.kappa
        kappa = "-" if found is None or found.kappa is None else f"{found.kappa:.2f}"
        bounds = "-" if found is None or found.low is None else f"{found.low:.2f} to {found.high:.2f}"
        equal, count = ("-", "0") if found is None else (f"{100 * found.observed:.2f}", str(found.labels))
        rows.append((item.judge, kappa, bounds, equal, count, str(item.missing)))
    head = ("judge", "kappa", "95 % interval", "equal", "labels", "missing")
    return Table("agreement with people: Cohen's kappa", head, tuple(rows))


def judge_notes(report: JudgeReport) -> list[str]:
    """Lines on the judge and its cost, and every warning."""
    spent = report.spent
    usd = "" if spent.usd is None else f", {spent.usd:.4f} USD"
    return [
        f"judge {report.model}: {spent.calls:,} calls, {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out{usd}",
        *(f"warning: {line}" for line in report.warnings()),
    ]


def judge_files(report: JudgeReport, candidates: Sequence[Candidate]) -> dict[str, str]:
    """The texts of the files ``judged.json``, ``judged.csv``, ``pairs.csv`` and ``to_label.jsonl``, by name; without rows no file.

    Parameters
    ----------
    report : what was judged
    candidates : the answers
    """
    rows = to_label(candidates, report.pairs)
    return {
        "judged.json": f"{json.dumps(report.to_json(), ensure_ascii=False, indent=2)}\n",
        **({"judged.csv": as_csv(answers_judged(report))} if report.answers else {}),
        **({"pairs.csv": as_csv(pairs_judged(report))} if report.pairs else {}),
        "to_label.jsonl": "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows),
    }


def _cells(interval: Interval | None) -> tuple[str, str]:
    if interval is None:
        return "-", "-"
    return f"{100 * interval.mean:.2f}", f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"
