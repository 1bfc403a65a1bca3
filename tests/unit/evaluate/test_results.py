"""Tables, JSON data and plots of an evaluation, by hand."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from hlgraph.errors import InputError
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.figures import (
    MEASURE,
    against_table,
    as_lines,
    as_markdown,
    difference_cells,
    figures_table,
    group_tables,
    runs_table,
    significance_table,
)
from hlgraph.evaluate.metrics import read_qrels, read_run
from hlgraph.evaluate.plots import Axis, Point, Series, chart
from hlgraph.evaluate.report import Evaluation, as_tree, plot, write_folder
from hlgraph.evaluate.runner import EvalReport, Outcome, Setting, result_of
from hlgraph.evaluate.statistics import (
    Difference,
    default_against,
    in_pairs,
    ranked_section,
    run_differences,
    significance,
    uncertainty,
    values_of,
)

QUESTIONS = tuple(
    Question(f"q{at}", "", frozenset({"g"}), "bridge" if at % 2 else "", 2 + at % 2, subset="dev") for at in range(8)
)
SETTING = Setting(
    version="1", preset="paper", extraction="precomputed: a.jsonl", store="hlgraph", embedder="e", reranker="r", k=20
)
SVG = "{http://www.w3.org/2000/svg}"


def report(**found: int) -> EvalReport:
    """Strategies that find the gold of the first so many questions; ``broken`` fails on all."""
    return EvalReport(
        "tiny",
        QUESTIONS,
        {
            name: result_of(
                QUESTIONS,
                [
                    Outcome(
                        item.id, ("g",) if at < count else ("x",), 10.0 * (at + 1), 4, 10, 2000, cpu_milliseconds=at
                    )
                    if name != "broken"
                    else Outcome(item.id, (), 1.0, 0, error="ModelError: no <answer>")
                    for at, item in enumerate(QUESTIONS)
                ],
            )
            for name, count in found.items()
        },
    )


def results(made: EvalReport, **other: object) -> Evaluation:
    given = Evaluation(
        report=made,
        uncertainty=uncertainty(made),
        setting=SETTING,
        corpus="c",
        asked="a",
        against=next(iter(made.strategies)),
    )
    return replace(given, **other)


def test_figures_by_hand() -> None:
    table = figures_table(report(half=4, broken=0))
    assert table.title == "tiny, 8 questions; recall and all_gold in per cent"
    rows = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    half = rows["half"]
    assert [half[name] for name in ("recall@2", "all_gold@5", "p50_ms", "p95_ms", "p99_ms")] == [
        *("50.00", "50.00", "45.00", "76.50", "79.30")
    ]
    cost = ("cpu_ms", "round_trips", "rows", "kB", "failed")
    assert [half[name] for name in cost] == ["3.50", "4.0", "10", "2.0", "0"]
    assert [rows["broken"][name] for name in ("recall@5", "p50_ms", "rows", "failed")] == ["0.00", "-", "-", "8"]


def test_a_difference_whose_interval_holds_0_is_marked() -> None:
    made = report(all=8, most=7, none=0)
    table = against_table(made, uncertainty(made), against="all")
    marks = {row[0]: row[6] for row in table.rows}
    assert marks == {"all": "", "most": "noise", "none": ""}
    minus = {row[0]: row[3] for row in table.rows}
    assert minus == {"all": "", "most": "-12.50", "none": "-100.00"}


def test_groups_are_shown_where_there_are_several() -> None:
    made = report(half=4, none=0)
    tables = group_tables(QUESTIONS, values_of(made, MEASURE), measure=MEASURE, against="none")
    assert [table.title for table in tables] == [
        "recall@5 by hops (questions); +/-: minus none, in brackets: noise",
        "recall@5 by type (questions); +/-: minus none, in brackets: noise",
    ]
    assert tables[0].head == ("strategy", "2 (4)", "3 (4)")
    assert tables[1].head == ("strategy", "none (4)", "bridge (4)")
    # Four questions prove nothing, whatever the interval says.
    assert tables[1].rows == (("half", "50.00 (+50.00)", "50.00 (+50.00)"), ("none", "0.00", "0.00"))


def test_text_says_with_what_and_what_failed() -> None:
    made = report(half=4, broken=0)
    earlier = tuple(run_differences(made, report(half=5)))
    text = str(results(made, earlier=earlier, changes=("preset: plain before, paper now",)))
    assert "extraction: precomputed: a.jsonl" in text
    assert "broken failed on 8 questions: ModelError: no <answer>" in text
    assert "changed since the earlier run: preset: plain before, paper now" in text
    assert "-12.50" in text.split("this run against the earlier one")[1]
    alone = str(results(report(half=4)))
    assert "minus" not in alone


def test_the_tree_is_json_and_rounded() -> None:
    made = report(all=8, third=3)
    tree = as_tree(results(made))
    assert json.loads(json.dumps(tree)) == tree
    strategies = tree["strategies"]
    assert isinstance(strategies, dict)
    third = strategies["third"]
    assert (third["recall@5"], third["all_gold@20"], third["bytes"], third["failed"]) == (37.5, 37.5, 2000, 0)
    assert third["intervals"]["recall@5"][0] < 37.5 < third["intervals"]["recall@5"][1]
    assert third["by_hops"]["2"]["questions"] == 4
    assert third["by_hops"]["2"]["recall@5"] == 50
    differences = tree["differences"]
    assert isinstance(differences, list)
    first = differences[0]
    assert (first["a"], first["b"], first["difference"], first["is_noise"]) == ("all", "third", 62.5, False)


def test_the_strategy_to_compare_with() -> None:
    made = report(a=3, b=5)
    assert default_against(made, None) == "b"
    assert default_against(made, "a") == "a"
    with pytest.raises(InputError, match="'c' is not among the strategies asked; compare with one of: a, b"):
        default_against(made, "c")


def test_no_difference_has_no_sign_of_its_own() -> None:
    """Rounded from below zero, it read -0.00."""
    assert difference_cells(Difference(-1e-18, -1e-18, 0.0, 1.0))[:2] == ("+0.00", "+0.00 to +0.00")


def test_a_folder_holds_table_data_and_plot(tmp_path: Path) -> None:
    made = results(report(half=4, broken=0))
    paths = write_folder(made, tmp_path / "deep" / "out")
    runs = ["run.half.trec", "run.broken.trec"]
    assert [path.name for path in paths] == [
        *("table.md", "results.json", "figures.csv", "recall_latency.svg", "qrels.trec"),
        *runs,
        "report.html",
    ]
    assert "| half | 50.00 |" in paths[0].read_text()
    assert json.loads(paths[1].read_text())["dataset"] == "tiny"
    assert paths[2].read_text().splitlines()[1].startswith("half,")
    golds = read_qrels(paths[4])
    assert golds == {question.id: question.gold for question in made.report.questions}
    ranked = read_run(paths[5])
    assert ranked == {item.question_id: item.ids for item in made.report.strategies["half"].outcomes if item.ids}
    assert read_run(paths[6]) == {}
    root = ET.fromstring(paths[3].read_text())  # noqa: S314 - made here
    names = [item.text for item in root.iter(f"{SVG}text")]
    assert "half" in names
    assert "broken" not in names  # it has no latency
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_folder(made, tmp_path / "file")


def test_ids_that_trec_files_cannot_hold_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = results(report(half=4))
    odd = tuple(replace(question, id=f"q {question.id}") for question in made.report.questions)
    paths = write_folder(replace(made, report=replace(made.report, questions=odd)), tmp_path)
    assert not [path for path in paths if path.suffix == ".trec"]
    assert "no TREC files: the question" in paths[0].read_text()
    assert "no TREC files: the question" in caplog.text


def test_further_measures_are_tested_as_recall_is() -> None:
    made = report(half=4, all=8, third=3)
    further = in_pairs(ranked_section(made, ["RR", "R@5"]), "all")
    same = significance(made, MEASURE, against="all")
    for name in ("half", "third"):
        found = further.found["R@5"][name]
        assert found.own == uncertainty(made).intervals[name][MEASURE]
        assert (found.p, found.corrected, found.deviation) == pytest.approx(same[name])
    tables = replace(results(made), sections=(further,)).parts()["further measures, by ir-measures"]
    assert [row[:2] for row in tables[0].rows[:2]] == [("half", "RR"), ("half", "R@5")]


def test_two_runs_are_tested_as_strategies_are() -> None:
    found = run_differences(report(a=8, b=6), report(a=0, b=5))
    tested = {item.a: item.tested for item in found if item.measure == MEASURE}
    assert (tested["a"].p, tested["a"].corrected) == pytest.approx((2 / 2**8, 4 / 2**8))  # type: ignore[union-attr]
    assert (tested["b"].p, tested["b"].corrected) == (1.0, 1.0)  # type: ignore[union-attr]
    table = runs_table(found, title="")
    assert [len(row) for row in table.rows] == [len(table.head)] * len(table.rows)
    assert next(row for row in table.rows if row[:2] == ("a", MEASURE))[4:7] == ("0.0078", "0.0156", "")


def test_strategies_are_tested_against_one_and_corrected() -> None:
    found = significance(report(a=8, b=4, c=0), MEASURE, against="a")
    assert list(found) == ["b", "c"]
    assert found["c"].p == pytest.approx(2 / 2**8)
    assert found["b"].p == pytest.approx(2 / 2**4)
    assert (found["b"].corrected, found["c"].corrected) == (found["b"].p, 2 * found["c"].p)
    table = significance_table(report(a=8, b=4), against="a", measure=MEASURE)
    assert table.rows[0][0] == "b"
    assert int(table.rows[0][3]) > int(table.rows[0][4]) > int(table.rows[0][5])


def test_lines_and_markdown_hold_the_same_cells() -> None:
    table = figures_table(report(half=4))
    assert as_lines(table)[2].split() == list(table.rows[0])
    assert [cell.strip() for cell in as_markdown(table)[-1].strip("|").split("|")] == list(table.rows[0])


def test_points_stand_where_their_figures_say() -> None:
    """On a logarithmic axis a factor is a distance: 10 lies in the middle of 1 and 100."""
    points = (Point(1, 0), Point(10, 50, 40, 60), Point(100, 100))
    drawing = chart([Series("a & b", points)], "<title>", x=Axis("ms", is_log=True), y=Axis("%"))
    root = ET.fromstring(drawing)  # noqa: S314 - made here
    marks = [(float(item.attrib["cx"]), float(item.attrib["cy"])) for item in root.iter(f"{SVG}circle")][:3]
    assert marks[1][0] == pytest.approx((marks[0][0] + marks[2][0]) / 2, abs=0.1)
    assert marks[1][1] == pytest.approx((marks[0][1] + marks[2][1]) / 2, abs=0.1)
    assert marks[0][1] > marks[2][1]  # SVG counts from above
    bars = [item for item in root.iter(f"{SVG}line") if item.attrib["stroke"] == "#0072b2"]
    assert len(bars) == 1
    assert math.isclose(float(bars[0].attrib["x1"]), marks[1][0], abs_tol=0.1)
    found = root.find(f"{SVG}title")
    assert found is not None
    assert found.text == "<title>"


def test_a_logarithmic_axis_leaves_out_0_and_one_point_is_enough() -> None:
    zero, one = Series("zero", (Point(0, 1),)), Series("one", (Point(5, 1),))
    root = ET.fromstring(chart([zero, one], "t", x=Axis("ms", is_log=True), y=Axis("%")))  # noqa: S314 - made here
    assert len(list(root.iter(f"{SVG}circle"))) == 1  # of the legend: the point itself is not there
    assert len(list(root.iter(f"{SVG}polygon"))) == 2
    assert plot(results(report(broken=0))).endswith("</svg>\n")
