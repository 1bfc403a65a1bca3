"""Format the results of an evaluation: as JSON data, as lines, and as a folder with tables, data and a plot."""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import InputError
from hlgraph.evaluate.answering import MEASURES as ANSWER_MEASURES
from hlgraph.evaluate.answering import AnswerOutcome, AnswerReport, measured
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.figures import (
    Table,
    against_table,
    answers_table,
    as_csv,
    as_html,
    as_markdown,
    by_group,
    costs_table,
    coverage_table,
    figures_table,
    group_tables,
    groupings,
    paired_table,
    paired_tree,
    runs_table,
    significance_table,
)
from hlgraph.evaluate.judges.report import (
    JudgeReport,
    candidates_of,
    judge_files,
    judge_notes,
    judge_tables,
    judged_title,
)
from hlgraph.evaluate.metrics import CUTOFFS, Scores, qrels_text, run_text
from hlgraph.evaluate.plots import Axis, Column, Point, Series, chart, forest
from hlgraph.evaluate.runner import Coverage, EvalReport, Outcome, Run, Setting, StrategyResult, run_of, save
from hlgraph.evaluate.statistics import (
    MEASURE,
    SHOWN,
    Comparison,
    Difference,
    Interval,
    Loss,
    PairedSection,
    Uncertainty,
    Values,
    losses,
    significance,
    values_of,
)
from hlgraph.retrieve.explain.svg import escaped, framed

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report

_LOG = logging.getLogger(__name__)
_DIGITS = {"p50_ms": 3, "p95_ms": 3, "p99_ms": 3, "cpu_ms": 3, "round_trips": 2, "rows": 1, "bytes": 0}
_NO_GOLD = "No question has supporting passages: recall and all_gold are undefined."
_PAIRED = "paired bootstrap and permutation test; questions that a difference of 1, 2 and 5 points takes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The complete results of an evaluation. A notebook shows its tables and plots.

    Attributes
    ----------
    report : the outcomes and their measures
    uncertainty : confidence intervals, and differences of strategies
    setting : the configuration of the run
    corpus, asked : fingerprints of the passages and of the questions
    against : the strategy that the others are compared with in tables
    earlier : this run minus an earlier one; empty if there is none
    changes : differences between the configurations of the two runs, one line each
    answers : the answers and their measures; None if answers were not requested
    judged : verdicts of judges on the answers; None if judges were not requested
    sections : further measures of passages, of answers, judgements and claims, each strategy compared with ``against``
    titles : titles by id of the passages that the report page names
    warnings : lines on runs of other systems that lack questions
    ingested : the report of the ingest; None if the corpus was used as it is
    of_corpus : figures of the corpus that were asked for, by name
    planned : tokens of a chat model that a plan expects, by strategy (of the corpus: empty) and measure, where none was asked
    coverage : by strategy, what is retrieved for questions without gold; empty if they have gold
    """

    report: EvalReport
    uncertainty: Uncertainty
    setting: Setting
    corpus: str
    asked: str
    against: str
    earlier: tuple[Comparison, ...] = ()
    changes: tuple[str, ...] = ()
    answers: AnswerReport | None = None
    judged: JudgeReport | None = None
    sections: tuple[PairedSection, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    ingested: Report | None = None
    of_corpus: Mapping[str, Interval] = field(default_factory=dict)
    planned: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every passage was ingested, and every question was searched, answered and judged."""
        answers = () if self.answers is None else self.answers.strategies.values()
        is_ingested = self.ingested is None or not self.ingested.failed
        is_judged = self.judged is None or not self.judged.missing
        return is_ingested and not self.report.failed and not any(item.failed for item in answers) and is_judged

    def run(self) -> Run:
        """The outcomes as a run, which a later evaluation can take as its ``baseline``."""
        sections = [item.section for item in self.sections]
        return run_of(self.report, self.setting, corpus=self.corpus, asked=self.asked, sections=sections)

    def save(self, path: str | Path) -> None:
        """Write the run to a file, which a later evaluation can take as its ``baseline``. Raises InputError."""
        save(self.run(), path)

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``report.html``, tables, data, a plot and TREC files, see :func:`write_folder`. Raises InputError."""
        return write_folder(self, folder)

    def plots(self, part: str = "Retrieval") -> list[str]:
        """The plots of a part of the report (see :meth:`parts`) as texts of SVG."""
        return [svg for svg, _ in _plots(self, part)]

    def to_json(self) -> dict[str, object]:
        """Everything as JSON data, see :func:`as_tree`."""
        return as_tree(self)

    def __str__(self) -> str:
        """All tables and notes, as the command prints them."""
        return "\n".join(as_text(self))

    def _repr_html_(self) -> str:
        lines: list[str] = []
        for title, tables in self.parts().items():
            lines += [_heading(title), *(_figure(svg, caption) for svg, caption in _plots(self, title))]
            lines += [line for table in tables for line in as_html(table, base=self.against)]
        return "\n".join([*lines, *(f"<p><bdi>{escaped(note)}</bdi></p>" for note in self.notes())])

    def parts(self) -> dict[str, list[Table]]:
        """All tables by the part of the report that they belong to, the overall figures first."""
        by_part = {"Retrieval": self._retrieval_tables()}
        if self.answers is not None:
            by_part["Answers"] = [answers_table(self.answers), costs_table(self.answers)]
        for item in self.sections:
            if item.section.values:
                title = "Answers" if item.section.title.startswith("answers (") else item.section.title
                table = paired_table(item.found, title=f"{item.section.title}: {_PAIRED}", against=self.against)
                by_part.setdefault(title, []).append(table)
        if self.judged is not None:
            title = judged_title(self.judged)
            by_part[title] = [*judge_tables(self.judged), *by_part.get(title, [])]
        by_part["By kind of question"] = self._group_tables()
        if self.earlier:
            table = runs_table(self.earlier, title=f"this run against the earlier one: {_PAIRED}")
            by_part["Against the earlier run"] = [table]
        return {title: tables for title, tables in by_part.items() if tables}

    def tables(self) -> list[Table]:
        """All tables, the overall figures first."""
        return [table for tables in self.parts().values() for table in tables]

    def _retrieval_tables(self) -> list[Table]:
        tables = [figures_table(self.report), *([coverage_table(self.coverage)] if self.coverage else [])]
        if len(self.report.strategies) > 1 and any(question.gold for question in self.report.questions):
            tables.append(against_table(self.report, self.uncertainty, against=self.against))
            tables.append(significance_table(self.report, against=self.against))
        return tables

    def _group_tables(self) -> list[Table]:
        return [
            table
            for part in grouped_parts(self)
            for table in group_tables(part.questions, part.values, measure=part.measure, against=self.against)
        ]

    def notes(self) -> list[str]:
        """Lines on the configuration of the run, its changes since the earlier run, and failures."""
        setting = self.setting
        lines = [
            f"extraction: {setting.extraction}; preset: {setting.preset}; embedder: {setting.embedder}; "
            f"reranker: {setting.reranker}; store: {setting.store}",
            f"corpus {self.corpus[:12]}, questions {self.asked[:12]}",
            *(() if any(question.gold for question in self.report.questions) else (_NO_GOLD,)),
            *self.warnings,
        ]
        lines.extend(f"{item.section.title}: {note}" for item in self.sections for note in item.section.notes)
        lines.extend(f"changed since the earlier run: {change}" for change in self.changes)
        for name, result in self.report.strategies.items():
            lines.extend(f"{name} failed on {count} questions: {error}" for error, count in result.errors.items())
        if self.answers is not None:
            for name, answered in self.answers.strategies.items():
                failed = Counter(outcome.error for outcome in answered.outcomes if outcome.error)
                lines.extend(f"{name} failed to answer {count} questions: {error}" for error, count in failed.items())
        return lines if self.judged is None else [*lines, *judge_notes(self.judged)]


class GroupedPart(NamedTuple):
    """A measure that is shown by groups of questions: the questions that have it, and its values by strategy."""

    measure: str
    questions: tuple[Question, ...]
    values: Mapping[str, Values]


def grouped_parts(results: Evaluation) -> list[GroupedPart]:
    """What is shown by hops, type and subset: recall, then the main measure of every section."""
    report = results.report
    by_id = {question.id: question for question in report.questions}
    parts = [GroupedPart(MEASURE, report.questions, values_of(report, MEASURE))] if report.questions[0].gold else []
    for section in (item.section for item in results.sections if item.section.values):
        asked = tuple(by_id[name] for name in section.questions)
        parts.append(GroupedPart(section.main, asked, section.columns(section.main)))
    return parts


def as_text(results: Evaluation) -> list[str]:
    """All tables and notes as lines for a terminal."""
    return [*(f"{table}\n" for table in results.tables()), *results.notes()]


def as_tree(results: Evaluation) -> dict[str, object]:
    """All results as JSON data: measures and differences in per cent with two decimals, times in milliseconds with three.

    Each strategy has ``recall@2`` to ``recall@20``, ``all_gold@2`` to ``all_gold@20``, ``p50_ms``, ``p95_ms``, ``p99_ms``,
    ``cpu_ms`` (median CPU time of this process), ``round_trips``, ``rows`` and ``bytes`` (means per question), ``failed``,
    ``errors``, ``intervals`` (95 %, by measure), and the measures by hops, type and subset. Times and means are null if no
    question was answered, measures if no question has gold. ``sections`` has all other measures.
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
        "warnings": list(results.warnings),
        "against": results.against,
        "preset": results.setting.preset,
        "setting": asdict(results.setting),
        "fingerprints": {"corpus": results.corpus, "questions": results.asked},
        **({} if results.answers is None else {"answers": _answers_tree(results.answers)}),
        **({} if results.judged is None else {"judged": results.judged.to_json()}),
        **(
            {}
            if not results.of_corpus
            else {"of_corpus": {name: list(each) for name, each in results.of_corpus.items()}}
        ),
        **({"planned": {name: dict(each) for name, each in results.planned.items()}} if results.planned else {}),
        **({"coverage": {name: item._asdict() for name, item in results.coverage.items()}} if results.coverage else {}),
        "sections": [
            {
                "title": item.section.title,
                "questions": len(item.section.questions),
                "notes": list(item.section.notes),
                **paired_tree(item.found, results.against),
            }
            for item in results.sections
        ],
    }


def _answers_tree(answers: AnswerReport) -> dict[str, object]:
    return {
        "by_chat": answers.by_chat,
        "questions": len(answers.questions),
        "strategies": {
            name: {
                **_percents({measure: interval.mean for measure, interval in answers.intervals[name].items()}),
                "intervals": _bounds(answers.intervals[name]),
                "failed": item.failed,
                "refused": sum(outcome.is_refused for outcome in item.outcomes),
                **{key: getattr(item.spent, key) for key in ("calls", "input_tokens", "output_tokens", "usd")},
            }
            for name, item in answers.strategies.items()
        },
    }


def _strategy_tree(result: StrategyResult, uncertainty: Uncertainty, name: str) -> dict[str, object]:
    figures = result.figures
    return {
        **_percents(result.scores.by_name()),
        **{name: _rounded(getattr(figures, name), digits) for name, digits in _DIGITS.items()},
        "failed": figures.failed,
        "errors": result.errors,
        "intervals": _bounds(uncertainty.intervals[name]),
        "by_hops": _groups({str(key): scores for key, scores in result.by_hops.items()}),
        "by_type": _groups(result.by_type),
        "by_subset": _groups(result.by_subset),
    }


def _groups(groups: Mapping[str, Scores]) -> dict[str, dict[str, float | None]]:
    return {key: {"questions": scores.questions, **_percents(scores.by_name())} for key, scores in groups.items()}


def _comparison_tree(item: Comparison) -> dict[str, object]:
    difference = item.difference
    return {
        "measure": item.measure,
        "a": item.a,
        "b": item.b,
        "difference": round(100 * difference.mean, 2),
        "low": round(100 * difference.low, 2),
        "high": round(100 * difference.high, 2),
        "p": round(item.tested.p if item.tested else difference.p, 4),
        **({"p_holm": round(item.tested.corrected, 4)} if item.tested else {}),
        "is_noise": difference.is_noise,
    }


def _bounds(intervals: Mapping[str, Interval]) -> dict[str, list[float]]:
    return {name: [round(100 * item.low, 2), round(100 * item.high, 2)] for name, item in intervals.items()}


def _percents(measures: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(share) else round(100 * share, 2) for name, share in measures.items()}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def plot(results: Evaluation) -> str:
    """An SVG plot of recall with its interval against latency, one point per strategy."""
    series = []
    for name, result in results.report.strategies.items():
        interval = results.uncertainty.intervals[name].get(MEASURE)
        if result.figures.p50_ms is not None and interval is not None:
            point = Point(result.figures.p50_ms, *(100 * value for value in interval))
            series.append(Series(name, (point,)))
    title = f"{results.report.dataset}: {MEASURE} (95 % interval) against latency"
    return chart(
        series, title, x=Axis("milliseconds per question, median", is_log=True), y=Axis(f"{MEASURE}, per cent")
    )


def write_folder(results: Evaluation, folder: str | Path) -> list[Path]:
    """Write ``report.html``, ``table.md``, ``results.json``, ``figures.csv``, ``recall_latency.svg`` and TREC files to a folder.

    With answers there is also ``answers.jsonl``, and with judges the files of
    :func:`hlgraph.evaluate.judges.report.judge_files`. The TREC files are ``qrels.trec`` and ``run.STRATEGY.trec``. If an id of
    a question or a passage has white space, which the format cannot hold, they are left out, and ``table.md`` and the log say so.

    Parameters
    ----------
    results : the results
    folder : created if it does not exist

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        The folder cannot be written.
    """
    try:
        trec, notes = trec_files(results.report), results.notes()
    except InputError as error:
        trec, notes = {}, [*results.notes(), f"no TREC files: {error}"]
        _LOG.warning("%s", notes[-1])
    lines = [f"# {results.report.dataset}", "", *(f"- {line}" for line in notes), ""]
    for table in results.tables():
        lines.extend((*as_markdown(table), ""))
    lines.extend(("![recall against latency](recall_latency.svg)", ""))
    judged = {}
    if results.judged is not None and results.answers is not None:
        judged = judge_files(results.judged, candidates_of(results.answers))
    contents = {
        "table.md": "\n".join(lines),
        "results.json": f"{json.dumps(as_tree(results), ensure_ascii=False, indent=2)}\n",
        "figures.csv": as_csv(figures_table(results.report)),
        "recall_latency.svg": plot(results),
        **trec,
        **({} if results.answers is None else {"answers.jsonl": answer_lines(results.answers)}),
        **judged,
        "report.html": report_page(results),
    }
    return write_files(Path(folder), contents)


def answer_lines(found: AnswerReport) -> str:
    """All answers as JSON lines: strategy, question, gold answers, measures, and the outcome."""
    lines = []
    for name, item in found.strategies.items():
        for question, outcome in zip(found.questions, item.outcomes, strict=True):
            figures = dict(zip(ANSWER_MEASURES, measured(outcome, question.answers), strict=True))
            row = {
                "strategy": name,
                "question": question.text,
                "answers": question.answers,
                "assertions": question.assertions,
                **figures,
                **asdict(outcome),
            }
            lines.append(f"{json.dumps(row, ensure_ascii=False)}\n")
    return "".join(lines)


def trec_files(report: EvalReport) -> dict[str, str]:
    """The texts of the TREC files of an evaluation, by file name. Raises InputError for an id with white space."""
    golds = {question.id: question.gold for question in report.questions}
    runs = {
        f"run.{name}.trec": run_text(
            {outcome.question_id: tuple(dict.fromkeys(outcome.ids)) for outcome in result.outcomes}, name=name
        )
        for name, result in report.strategies.items()
    }
    return {"qrels.trec": qrels_text(golds), **runs}


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


# The results of an evaluation as one HTML page, which needs no network and no script.


_MOST_SERIES = 20  # more names do not fit next to a plot
_WORST = "Largest losses"
_RUN = "What was run"


def report_page(results: Evaluation) -> str:
    """The whole page: what was run, every table and plot, and the questions with the largest losses.

    Raises
    ------
    InputError
        The results have no strategy.
    """
    style = files("hlgraph.evaluate").joinpath("report_page.css").read_text("utf-8")
    return framed(f"Evaluation of {results.report.dataset}", _body(results), style=style)


def _body(results: Evaluation) -> Iterator[str]:
    report, parts = results.report, results.parts()
    yield f"<h1>Evaluation of <bdi>{escaped(report.dataset)}</bdi></h1>"
    yield f'<p class="soft">{len(report.questions)} questions, {len(report.strategies)} strategies</p>'
    lost = losses(report, results.against)
    titles = [_RUN, *parts, *([_WORST] if lost else [])]
    links = "".join(f'<li><a href="#{_anchor(title)}">{_shown(title)}</a></li>' for title in titles)
    yield f'<nav aria-label="Parts of the report"><ul>{links}</ul></nav><main>'
    yield from _findings(results)
    yield _heading(_RUN)
    yield from _run(results)
    for title, tables in parts.items():
        yield _heading(title)
        yield from (_figure(svg, caption) for svg, caption in _plots(results, title))
        for table in tables:
            yield from as_html(table, base=results.against)
    if lost:
        yield _heading(_WORST)
        yield from _losses(results, lost)
    yield "</main>"


def _anchor(title: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split())


def _heading(title: str) -> str:
    return f'<h2 id="{_anchor(title)}">{_shown(title)}</h2>'


def _shown(title: str) -> str:
    return escaped(title[:1].upper() + title[1:])


def _findings(results: Evaluation) -> Iterator[str]:
    """The conclusions about the strategies after Holm's correction."""
    report, against = results.report, results.against
    value = 100 * report.strategies[against].scores.by_name()[MEASURE]
    if math.isnan(value):
        yield f"<p><strong>{_NO_GOLD}</strong></p>"
        return
    yield f"<p><strong>{MEASURE} of <bdi>{escaped(against)}</bdi> is {value:.1f} %.</strong>"
    tested = significance(report, MEASURE, against=against)
    if not tested:
        yield "</p>"
        return
    beyond = [
        (name, difference)
        for name, item in tested.items()
        if item.corrected < 0.05 and (difference := _minus(results, name))
    ]
    words = (
        f"<bdi>{escaped(name)}</bdi> {100 * difference.mean:+.1f} (p {_p_value(tested[name].corrected)})"
        for name, difference in beyond
    )
    others = len(tested) - len(beyond)
    rest = f"The other {others} cannot be told from it with these questions." if others else ""
    yield "Beyond chance (permutation test, p below 0.05 after Holm's correction): "
    yield f"{', '.join(words) or 'no strategy'}. {rest}</p>"


def _p_value(value: float) -> str:
    """Three decimals; a p value is never shown as zero."""
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def _minus(results: Evaluation, name: str) -> Difference | None:
    return results.uncertainty.between(MEASURE, name, b=results.against)


def _run(results: Evaluation) -> Iterator[str]:
    setting = results.setting
    entries = {
        "set": results.report.dataset,
        "corpus": f"{results.corpus} (fingerprint)",
        "questions": f"{len(results.report.questions)}, {results.asked} (fingerprint)",
        "version": f"hlgraph {setting.version}",
        "preset": setting.preset,
        "extraction": setting.extraction,
        "store": setting.store,
        "embedder": setting.embedder,
        "reranker": setting.reranker,
        "chat model": setting.chat or "none",
        "passages": f"{setting.k} a question",
        "compared with": f"{results.against} (marked with \u25c6 in the tables)",
    }
    entries |= _cost(results)
    yield f"<dl>{''.join(f'<dt>{key}</dt><dd><bdi>{escaped(value)}</bdi></dd>' for key, value in entries.items())}</dl>"
    if notes := results.notes()[2:]:  # the first two lines repeat what is above
        yield f"<ul>{''.join(f'<li><bdi>{escaped(line)}</bdi></li>' for line in notes)}</ul>"
    for name, values in setting.parameters.items():
        shown = "".join(f"<dt>{escaped(key)}</dt><dd>{escaped(str(value))}</dd>" for key, value in values.items())
        yield f"<details><summary>parameters of <bdi>{escaped(name)}</bdi></summary><dl>{shown}</dl></details>"


def _cost(results: Evaluation) -> dict[str, str]:
    """What the chat model cost for all answers together."""
    if results.answers is None or not results.answers.by_chat:
        return {}
    spent = [item.spent for item in results.answers.strategies.values()]
    total = f"{sum(item.usd or 0 for item in spent):.4f} USD"
    usd = "unknown price" if any(item.usd is None for item in spent) else total
    calls, tokens_in, tokens_out = (
        sum(getattr(item, name) for item in spent) for name in ("calls", "input_tokens", "output_tokens")
    )
    return {"cost of answers": f"{calls:,} calls, {tokens_in:,} tokens in, {tokens_out:,} out, {usd}"}


def _plots(results: Evaluation, title: str) -> Iterator[tuple[str, str]]:
    """The plots of a part of the report, each with its caption."""
    names = list(results.report.strategies)
    if title == "Retrieval" and any(question.gold for question in results.report.questions):
        yield _recall_by_k(results), "Recall by the number of passages."
        yield plot(results), f"{MEASURE} by the time of a search."
        if len(names) > 1:
            yield from _differences(
                results, {MEASURE: {name: minus for name in names if (minus := _minus(results, name))}}
            )
    elif title == "By kind of question":
        yield from _page_groups(results)
    for item in results.sections:
        if title == item.section.title or (title == "Answers" and item.section.title.startswith("answers (")):
            differences = {
                measure: {name: one.difference for name, one in items.items() if one.difference is not None}
                for measure, items in item.found.items()
            }
            yield from _differences(results, differences)


def _figure(svg: str, caption: str) -> str:
    words = f"<figcaption>{escaped(caption)}</figcaption>" if caption else ""
    return f'<figure tabindex="0">{svg}{words}</figure>'


def _recall_by_k(results: Evaluation) -> str:
    strategies = list(results.report.strategies.items())[:_MOST_SERIES]
    series = [
        Series(name, tuple(Point(k, 100 * result.scores.recall[k]) for k in CUTOFFS)) for name, result in strategies
    ]
    return chart(
        series, "recall by number of passages", x=Axis("passages (k)", is_log=True), y=Axis("recall@k, per cent")
    )


def _differences(results: Evaluation, differences: Mapping[str, Mapping[str, Difference]]) -> Iterator[tuple[str, str]]:
    """One plot of the differences from ``against``, with a column for each measure."""
    rows = [name for name in results.report.strategies if any(name in items for items in differences.values())]
    if not rows:
        return
    columns = [
        Column(measure, tuple(_percent(items.get(name)) for name in rows))
        for measure, items in differences.items()
        if items
    ]
    title = f"minus {results.against}, in points, with the 95 % interval; hollow: the interval contains 0"
    yield forest(rows, columns, title=title, is_difference=True), title


def _percent(item: Interval | Difference | None) -> Interval | None:
    return None if item is None else Interval(100 * item.mean, 100 * item.low, 100 * item.high)


def _page_groups(results: Evaluation) -> Iterator[tuple[str, str]]:
    for part in grouped_parts(results):
        names = list(part.values)  # a run of another system has no answers
        for view, groups in groupings(part.questions).items():
            comparisons = by_group(part.values, groups, against=results.against)
            columns = [
                Column(f"{key} ({len(groups[key])})", tuple(_percent(comparisons[key][name].own) for name in names))
                for key in groups
            ]
            title = f"{part.measure} by {view}, per cent, with the 95 % interval"
            yield forest(names, columns, title=title), title


def _losses(results: Evaluation, lost: Mapping[str, Sequence[Loss]]) -> Iterator[str]:
    against = results.against
    yield (
        f"<p>The questions on which a strategy loses most against <bdi>{escaped(against)}</bdi>, by {MEASURE}. "
        "<mark>Marked</mark> passages support the answer.</p>"
    )
    for name, items in lost.items():
        yield f"<details><summary><bdi>{escaped(name)}</bdi>: {len(items)} questions</summary>"
        for item in items:
            yield from _loss(results, name, item)
        yield "</details>"


def _loss(results: Evaluation, name: str, item: Loss) -> Iterator[str]:
    question = item.question
    golds = "; ".join(sorted(_title(results, key) for key in question.gold))
    yield f'<section class="loss"><p><strong><bdi>{escaped(question.text or question.id)}</bdi></strong></p>'
    answers = f"; answer: {' or '.join(question.answers)}" if question.answers else ""
    yield f'<p class="soft"><bdi>{escaped(f"{question.id}: {100 * item.difference:+.0f} points; gold: {golds}{answers}")}</bdi></p>'
    yield '<div class="pair">'
    for who, outcome in ((name, item.own), (results.against, item.other)):
        shown = f"{_found(results, outcome, question.gold)}{_answer(results, who, question.id)}"
        yield f"<div><p><bdi>{escaped(who)}</bdi></p>{shown}</div>"
    yield "</div></section>"


def _found(results: Evaluation, outcome: Outcome, gold: frozenset[str]) -> str:
    if outcome.error:
        return f"<p><bdi>{escaped(outcome.error)}</bdi></p>"
    names = ((key, f'<bdi title="{escaped(key)}">{escaped(_title(results, key))}</bdi>') for key in outcome.ids[:SHOWN])
    items = "".join(f"<li>{f'<mark>{title}</mark>' if key in gold else title}</li>" for key, title in names)
    return f"<ol>{items}</ol>" if items else "<p>nothing found</p>"


def _answer(results: Evaluation, strategy: str, question: str) -> str:
    if results.answers is None or strategy not in results.answers.strategies:
        return ""
    outcomes: Sequence[AnswerOutcome] = results.answers.strategies[strategy].outcomes
    outcome = next((item for item in outcomes if item.question_id == question), None)
    return "" if outcome is None else f'<p class="soft">answered: <bdi>{escaped(outcome.short or "nothing")}</bdi></p>'


def _title(results: Evaluation, key: str) -> str:
    return results.titles.get(key) or key
