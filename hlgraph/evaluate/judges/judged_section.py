"""What judges said of single answers as a section of a report: strategies are compared in pairs, and runs with each other."""

from __future__ import annotations

from collections.abc import Mapping

from hlgraph.evaluate.judges.judge_report import JudgeReport
from hlgraph.evaluate.sections import Section


def judged_title(report: JudgeReport) -> str:
    """The title of the part of a report that is about judges."""
    return f"judged by {report.model}"


def judged_section(report: JudgeReport) -> Section:
    """The verdicts on single answers by question; a missing verdict has no value."""
    questions = tuple(dict.fromkeys(name for item in report.answers for name in item.question_ids))
    judges = tuple(dict.fromkeys(item.judge for item in report.answers))
    found: dict[str, dict[str, Mapping[str, float | None]]] = {}
    for item in report.answers:
        values = dict(zip(item.question_ids, item.values, strict=True))
        found.setdefault(item.strategy, {})[item.judge] = values
    return Section(
        title=judged_title(report),
        questions=questions,
        measures=judges,
        values={
            strategy: tuple(tuple(by_judge.get(judge, {}).get(name) for judge in judges) for name in questions)
            for strategy, by_judge in found.items()
        },
    )
