"""Recipes: all files are valid, names that are not known are refused, and the table says what was measured and what is missing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from hlgraph.errors import ReadError, UnknownNameError
from hlgraph.evaluate.answering import AnswerReport
from hlgraph.evaluate.datasets import Question
from hlgraph.evaluate.recipes import (
    Recipe,
    RecipeReport,
    RecipeRow,
    RecipeRun,
    asked_as,
    asked_rows,
    commands,
    load_recipe,
    missing_lines,
    models_line,
    names,
    notes,
    read_recipe,
    recipe_table,
    retriever_of,
)
from hlgraph.evaluate.report import Evaluation
from hlgraph.evaluate.runner import EvalReport, Outcome, Setting, result_of
from hlgraph.evaluate.statistics import Interval, Section, in_pairs, uncertainty
from hlgraph.evaluate.sweep import knob
from hlgraph.stores.migrate import folder

_SMALL: dict[str, Any] = {
    "paper": "HLG",
    "table": "Table 9",
    "title": "Small",
    "metrics": ["correctness"],
    "beside": ["recall@5"],
    "models": {"reader": "Large"},
    "against": "B0",
    "sets": [{"name": "News", "folders": ["news", "news_70"], "note": "a part"}],
    "rows": [
        {"name": "B0", "strategy": "chunk", "published": {"News": {"correctness": 78.7}}},
        {"name": "deep", "strategy": "path", "options": ["max_length=1"]},
        {"name": "asking", "strategy": "local", "options": ["by=chat"], "needs": "chat"},
        {"name": "trained", "strategy": "hierarchy", "needs": "training"},
        {"name": "HippoRAG", "published": {"News": {"correctness": 50}}},
    ],
}


_NO_CHAT, _NOT_TRAINED = "no chat model: set HLGRAPH_CHAT", "no trained generator: hlgraph align"


def _read(tmp_path: Path, **other: object) -> Recipe:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump({**_SMALL, **other}))
    return read_recipe(path)


def test_every_recipe_is_valid_and_every_paper_has_one() -> None:
    found = {name: load_recipe(name) for name in names()}
    assert {item.paper for item in found.values()} == {"HLG", "PropRAG", "ToPG", "TopoRAG", "GraphMPA"}
    for name, item in found.items():
        assert name == f"{item.paper.lower()}-{item.table.lower().replace(' ', '-')}"
        assert bool(item.against) == item.has_strategies
        assert any(row.published for row in item.rows) or item.table.startswith("Figure")
        asked = {retriever_of(row, item.preset)[0] for row in item.rows if row.strategy and not row.needs}
        lines = [line for one in item.sets for line in commands(item, one, place="DIR")]
        sets = [text for line in lines for text in re.findall(r"--set (\S+)", line)]
        assert all(knob(text).values for text in sets)
        assert bool(asked) == item.has_strategies
    assert len(list(folder("recipes").iterdir())) == len(found)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"preset": "bold"}, "bold"),
        ({"colour": "red"}, "unknown field `colour`"),
        ({"paper": "RAG"}, "Invalid enum value 'RAG'"),
        ({"metrics": ["recal@5"]}, "no metric 'recal@5'; there are: recall@2"),
        ({"against": "deeper"}, "no against 'deeper'; there are: B0, deep"),
        ({"sets": [{"name": "News", "folders": []}]}, "the set 'News' names no folder"),
        ({"rows": [{"name": "x", "strategy": "pth"}], "against": ""}, "pth"),
        (
            {"rows": [{"name": "x", "strategy": "path", "options": ["lenght=1"]}], "against": ""},
            "no parameter 'lenght'",
        ),
        (
            {"rows": [{"name": "x", "options": ["a=1"]}], "against": ""},
            "has options, reads, build or needs, but no strategy",
        ),
        (
            {"rows": [{"name": "x", "strategy": "chunk", "build": {"layers": 2}}], "against": ""},
            "'x' builds layers that chunk",
        ),
        (
            {"rows": [{"name": "x", "strategy": "hierarchy", "build": {"depth": 2}}], "against": ""},
            "a hierarchy has no parameter 'depth'; it has layers, neighbours",
        ),
        ({"rows": [{"name": "x", "strategy": "hierarchy", "build": {"layers": 9}}], "against": ""}, "layers is 9"),
        (
            {"rows": [{"name": "x", "strategy": "path", "reads": {"unit": "mixed"}}], "against": ""},
            "no unit of 'x' 'mixed'",
        ),
        ({"rows": [{"name": "x", "strategy": "path", "reads": {"k": 0}}], "against": ""}, "k is 0"),
        ({"rows": [{"name": "x", "strategy": "path", "reads": {"hops": 1}}], "against": ""}, "unknown field `hops`"),
        ({"rows": [{"name": "x"}, {"name": "x"}], "against": ""}, "a row is named twice: x, x"),
        ({"rows": [{"name": "x", "published": {"Old": {}}}], "against": ""}, "no set of 'x' 'Old'; there are: News"),
        ({"rows": [{"name": "x", "published": {"News": {"EM": 1}}}], "against": ""}, "no metric of 'x' on 'News' 'EM'"),
        (
            {"rows": [{"name": "x", "published": {"News": {"correctness": 101}}}], "against": ""},
            "'x' on 'News' has the figure 101.0; give per cent",
        ),
    ],
)
def test_what_is_no_recipe_is_named(tmp_path: Path, other: dict[str, object], says: str) -> None:
    with pytest.raises(ReadError, match="it is not a recipe") as caught:
        _read(tmp_path, **other)
    assert says in str(caught.value)


def test_an_unknown_recipe_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"no recipe 'proprag-table-9'; did you mean 'proprag-table-\d'"):
        load_recipe("proprag-table-9")


def _results(recipe: Recipe) -> Evaluation:
    questions = tuple(Question(f"q{at}", "", frozenset({"g"})) for at in range(4))
    outcomes = [Outcome(item.id, ("g",) if at else (), 1.0, 1) for at, item in enumerate(questions)]
    report = EvalReport(
        "news_70", questions, dict.fromkeys(("chunk", "path[max_length=1]", "bm25"), result_of(questions, outcomes))
    )
    setting = Setting(version="1", preset="paper", extraction="local", store="s", embedder="mini", reranker="r", k=20)
    return Evaluation(
        report=report, uncertainty=uncertainty(report), setting=setting, corpus="c", asked="a", against="chunk"
    )


def test_the_table_has_published_and_measured_figures(tmp_path: Path) -> None:
    recipe = _read(tmp_path)
    run = RecipeRun(recipe.sets[0], "news_70", _results(recipe))
    table = recipe_table("small", recipe, run=run)
    assert table.title == "small: HLG, Table 9: Small; News (news_70, 4 questions)"
    assert table.head[:6] == (
        *("row", "asked as", "correctness: paper", "correctness: here"),
        *("95 % interval", "recall@5: here"),
    )
    assert [row[:4] + row[5:6] for row in table.rows] == [
        ("B0", "chunk", "78.7", "not judged: add --judge", "75.00"),
        ("deep", "path[max_length=1]", "-", "not judged: add --judge", "75.00"),
        ("asking", "-", "-", _NO_CHAT, _NO_CHAT),
        ("trained", "-", "-", _NOT_TRAINED, _NOT_TRAINED),
        ("HippoRAG", "-", "50.0", "-", "-"),
        ("bm25 (beside)", "bm25", "-", "not judged: add --judge", "75.00"),
    ]
    assert "paper: reader Large; here: extraction local, embedder mini" in models_line(recipe, run)
    assert missing_lines(recipe, [run], sets=recipe.sets, has_chat=False) == [
        "set News: not there; looked for the folder news or news_70",
        "row asking: needs a chat model: pip install 'hlgraph[langchain]' with an integration such as langchain-openai, and set "
        "HLGRAPH_CHAT",
        "row trained: needs a generator trained by hlgraph align: serve it, name it in HLGRAPH_CHAT, and ask with --style aligned",
        "rows that hlgraph does not have, published figures only: HippoRAG",
        "correctness on News: no judge measured it; add --judge",
    ]
    warned = run._replace(results=replace(run.results, warnings=("gold is missing",)))
    assert notes(recipe, [warned]) == ["News: a part", "News: gold is missing"]
    assert [row.name for row in asked_rows(recipe, has_chat=True)] == ["B0", "deep", "asking"]
    judged = Section(
        title="judged", questions=("q0", "q1"), measures=("correctness",), values={"chunk": ((1.0,), (None,))}
    )
    of_claims = _read(tmp_path, metrics=["recall"], rows=[{"name": "B0", "strategy": "chunk"}])
    answered = run._replace(results=replace(run.results, answers=AnswerReport(False, (), {}, {})))
    lines = [missing_lines(of_claims, [each], sets=[], has_chat=True)[-1] for each in (run, answered)]
    assert "recall on News: no question that was asked has gold answers" in lines[0]
    assert (
        "recall on News: the answers of the questions that were asked, or their gold answers, have no claims"
        in lines[1]
    )
    run = run._replace(results=replace(run.results, sections=(in_pairs(judged, "chunk"),)))
    assert recipe_table("small", recipe, run=run).rows[0][2:5] == ("78.7", "100.00", "100.00 to 100.00")
    assert not any("correctness" in line for line in missing_lines(recipe, [run], sets=[], has_chat=True))


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("assertions", "not judged: add --judge"),
        ("answer_accuracy", "no judge decides it"),
        ("win_rate_against_B0", "in the pairs of --judge pairwise"),
        ("METEOR", "needs the data of WordNet"),
        ("answer_input_tokens", _NO_CHAT),
    ],
)
def test_a_cell_says_what_its_figure_needs(tmp_path: Path, metric: str, says: str) -> None:
    rows = [{"name": "B0", "strategy": "chunk"}, {"name": "HippoRAG", "published": {"News": {metric: 50}}}]
    recipe = _read(tmp_path, metrics=[metric], beside=[], against="", rows=rows)
    table = recipe_table("small", recipe, run=RecipeRun(recipe.sets[0], "news_70", _results(recipe)))
    assert [row[3] for row in table.rows] == [says, "-"]  # a system that hlgraph does not have lacks nothing here


def test_sets_that_are_not_there_are_shown_as_printed(tmp_path: Path) -> None:
    sets = [{"name": name, "folders": [name.lower()]} for name in ("News", "Law", "Sea")]
    published = {"News": {"correctness": 78.7}, "Law": {"correctness": 45.62, "recall@5": 60}}
    rows = [{"name": "B0", "strategy": "chunk", "published": published}, {"name": "ours", "strategy": "path"}]
    recipe = _read(tmp_path, sets=sets, rows=rows)
    missing = RecipeReport(name="small", recipe=recipe, runs=(), places=(), missing=(), absent=recipe.sets[1:])
    (table,) = missing.tables()
    assert table.title == "small: HLG, Table 9: Small; as printed, sets that are not there"
    assert (table.head, table.rows) == (("row", "Law: correctness", "Law: recall@5"), (("B0", "45.62", "60.0"),))
    assert missing.to_json()["printed"] == {"Law": {"B0": published["Law"]}, "Sea": {}}
    assert str(missing).count("B0") == 1
    run = RecipeRun(recipe.sets[0], "news", _results(recipe))
    text = str(replace(missing, runs=(run,), places=("news",)))
    assert text.index("; News (news") < text.index("the models differ") < text.index("as printed")
    assert replace(missing, absent=recipe.sets[2:]).tables() == []  # the paper prints nothing for it
    rows_of = {row.name: row.published for row in load_recipe("graphmpa-table-4").rows}
    mistral = rows_of["Mistral 8B, Basic LLM"]["QASPER"]
    assert f"{2 / (100 / mistral['ROUGE-1-P'] + 100 / mistral['ROUGE-1-R']):.4f}" == "0.1135"


def test_one_printed_figure_of_toporag_is_one_system() -> None:
    """Its variant without chunks has 61.2 in three tables: it decomposes the question, and a model reads whole chunks."""
    tables = [load_recipe(f"toporag-table-{number}") for number in (2, 4, 5)]
    rows = [row for table in tables for row in table.rows if 61.2 in row.published.get("MultiHop-RAG", {}).values()]
    assert [row.options for row in rows] == [("splitter=names", "chunks=0")] * 3
    ours = [row for number in (2, 3, 4, 5) for row in load_recipe(f"toporag-table-{number}").rows if row.strategy]
    assert {row.reads.unit for row in ours} == {"chunk"}


def test_a_baseline_without_a_figure_is_left_out(tmp_path: Path) -> None:
    recipe = _read(tmp_path, beside=[])
    run = RecipeRun(recipe.sets[0], "news_70", _results(recipe))
    assert recipe_table("small", recipe, run=run).rows[-1][0] == "HippoRAG"


def test_figures_of_the_corpus_are_numbers_and_need_no_strategy(tmp_path: Path) -> None:
    published = {"News": {"chunks": 6272, "input_tokens": 13911508, "statement_accuracy": 96.5}}
    rows = [{"name": "HLG", "of": "corpus", "published": published}, {"name": "other", "published": published}]
    metrics = ["chunks", "input_tokens", "statement_accuracy"]
    recipe = _read(tmp_path, rows=rows, metrics=metrics, beside=[], against="")
    figures = {"chunks": Interval(1234, 1234, 1234), "statement_accuracy": Interval(0.9, 0.8, 0.95)}
    run = RecipeRun(recipe.sets[0], "news_70", replace(_results(recipe), of_corpus=figures))
    assert [row[2:] for row in recipe_table("small", recipe, run=run).rows] == [
        ("6,272", "1,234", "13,911,508", _NO_CHAT, "96.5", "90.00", "80.00 to 95.00"),
        ("6,272", "-", "13,911,508", "-", "96.5", "-", ""),
    ]
    assert recipe_table("small", recipe, run=run).title.endswith("; News (news_70)")  # no question is asked
    assert missing_lines(recipe, [run], sets=[], has_chat=False) == [
        "rows that hlgraph does not have, published figures only: other",
        "input_tokens on News: no chat model extracted the corpus (hlgraph ingest --extract chat)",
    ]
    assert commands(recipe, recipe.sets[0], place="DIR") == []


def test_rows_that_differ_in_their_readers_are_asked_apart(tmp_path: Path) -> None:
    readers = ({"k": 5, "style": "plain"}, {"k": 5, "unit": "chunk", "style": "plain"}, {"k": 5, "style": "reason"})
    rows = [{"name": f"r{at}", "strategy": "path", "reads": reads} for at, reads in enumerate(readers)]
    rows.append({"name": "r3", "strategy": "path", "options": ["max_length=1"], "reads": {"diversity": 0.5}})
    recipe = _read(tmp_path, rows=[*rows, {"name": "B0", "strategy": "chunk", "reads": {"k": 5}}])
    keys = ["path[style=plain]", "path[unit=chunk,style=plain]", "path[style=reason]", "path[max_length=1]", "chunk"]
    assert [row.key for row in asked_as(recipe).values()] == keys
    assert [row.name for row in asked_rows(recipe, has_chat=False)] == ["r0", "r1", "r3", "B0"]
    assert commands(recipe, recipe.sets[0], place="DIR") == [
        "hlgraph eval DIR --strategies path --answers --k 5 --style plain",
        "hlgraph eval DIR --strategies path --answers --k 5 --unit chunk --style plain",
        "hlgraph eval DIR --strategies path --answers --k 5 --style reason",
        "hlgraph eval DIR --strategies path --set path.max_length=1 --answers --diversity 0.5",
        "hlgraph eval DIR --strategies chunk --answers --k 5",
    ]


def test_values_of_one_parameter_share_a_command(tmp_path: Path) -> None:
    rows = [
        {"name": str(at), "strategy": "path", "options": options}
        for at, options in enumerate(
            ([], ["max_length=1"], ["max_length=2"], ["beam_width=2"], ["beam_width=3", "max_length=2"])
        )
    ]
    recipe = _read(tmp_path, rows=rows, against="", metrics=["recall@5"], preset="tuned")
    assert commands(recipe, recipe.sets[0], place="DIR") == [
        "hlgraph eval DIR --strategies path --set path.max_length=1,2 --preset tuned",
        "hlgraph eval DIR --set path.beam_width=3 --set path.max_length=2 --preset tuned",
        "hlgraph eval DIR --set path.beam_width=2 --preset tuned",
    ]
    closed = _read(tmp_path, rows=[rows[0], {"name": "model", "of": "model"}], against="", metrics=["F1"])
    lines = [commands(closed, closed.sets[0], place="DIR", has_chat=has_chat)[0] for has_chat in (True, False)]
    assert [" --closed-book" in line for line in lines] == [True, False]  # refused without a model
    claims = _read(tmp_path, rows=rows[:1], against="", metrics=["claim_recall", "ROUGE-L", "nDCG@10", "METEOR"])
    assert commands(claims, claims.sets[0], place="DIR") == [
        "hlgraph eval DIR --strategies path --answers --metrics ROUGE-L,nDCG@10 --claims words"
    ]
    assert (
        retriever_of(RecipeRow(name="x", strategy="path", options=("max_length=1",)), "paper")[0]
        == "path[max_length=1]"
    )
