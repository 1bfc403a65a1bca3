"""Results of training and comparing as people and programs read them. Made up: torch is not needed to print."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from hlgraph.align.contest import (
    UNTRAINED,
    AnswerFigures,
    Comparison,
    NegativeFigures,
    PolicyFigures,
    Spread,
    adapter_folders,
    prompts_for,
    prompts_of,
)
from hlgraph.align.pairs import (
    PROMPTS_FILE,
    TEST_FILE,
    TRAIN_FILE,
    Pair,
    Prompt,
    preferred,
    prompts_beside,
    read_pairs,
    write_lines,
)
from hlgraph.align.train import Trained, TrainSettings, curve_of
from hlgraph.cli.app import main
from hlgraph.cli.commands.align import comparison_lines, trained_lines
from hlgraph.errors import InputError, ReadError
from hlgraph.evaluate.statistics import Difference

LINE = {
    "step": 1,
    "epoch": 0.01,
    "loss": 2.76123,
    "margin": 0.0,
    "preferred": 0.25,
    "log_chosen": -81.25,
    "log_rejected": -9.5,
    "learning_rate": 1e-5,
}
TRAINED = Trained(
    adapter="t/adapter",
    metrics="t/metrics.jsonl",
    pairs=1200,
    too_long=3,
    steps=600,
    trained=4_884_480,
    frozen=134_515_008,
    curve=(LINE, {**LINE, "step": 600, "loss": 1.5, "margin": -0.5, "preferred": 1.0}),
    seconds=3725,
)
PLAIN = PolicyFigures(
    name=UNTRAINED,
    chosen=Spread(-300.0, -200.0, -100.0, -50.0, -25.0),
    rejected=Spread(-30.0, -20.0, -10.0, -5.0, -2.5),
    prefers=0.25,
    margin=0.0,
    mode_seeking=2.761231,
    dpo=0.693147,
    negatives=(NegativeFigures("bare", 30, 0.0, None, 0.0), NegativeFigures("citation", 10, 0.5, None, 0.0)),
    answers=(AnswerFigures(0, 20, 0.1, 0.2, 0.3, 0.4), AnswerFigures(1, 20, 0.5, 0.6, 0.7, 0.8)),
    gain=None,
)
MS = replace(
    PLAIN,
    name="ms",
    prefers=0.75,
    margin=1.5,
    mode_seeking=0.75,
    dpo=0.25,
    negatives=(NegativeFigures("bare", 30, 0.9, 1.0, 1.75), NegativeFigures("citation", 10, 0.6, 0.7, 0.75)),
    gain=Difference(0.125, -0.01, 0.26, 0.08),
)
COMPARED = Comparison(pairs=40, prompts=40, questions=20, policies=(PLAIN, MS))


def test_a_training_prints_its_curve() -> None:
    assert trained_lines(TRAINED) == [
        "pairs: 1,200 trained on, 3 left out as too long",
        "weights: 4,884,480 trained, 134,515,008 frozen",
        "steps: 600 in 1 h 2 min 5 s",
        "",
        "  step     loss   margin  preferred  ln pi(chosen)  ln pi(rejected)",
        "     1   2.7612   0.0000     25.0 %          -81.2             -9.5",
        "   600   1.5000  -0.5000    100.0 %          -81.2             -9.5",
        "",
        "adapter: t/adapter",
        "metrics: t/metrics.jsonl",
    ]


def test_a_curve_has_its_first_and_its_last_line() -> None:
    lines = [{"step": float(at)} for at in range(1, 101)]
    assert curve_of(lines[:3]) == tuple(lines[:3])
    assert curve_of(lines[:1]) == (lines[0],)
    found = curve_of(lines)
    assert (len(found), found[0], found[-1]) == (10, lines[0], lines[-1])


def test_a_comparison_prints_one_table_for_each_figure() -> None:
    assert comparison_lines(COMPARED) == [
        "40 pairs; margin and losses against untrained",
        "",
        "policy     prefers   margin  mode-seeking      dpo",
        "untrained   25.0 %    0.000         2.761    0.693",
        "ms          75.0 %    1.500         0.750    0.250",
        "",
        "policy     rejected  pairs  prefers  margin > 0   margin",
        "untrained  bare         30    0.0 %                0.000",
        "untrained  citation     10   50.0 %                0.000",
        "ms         bare         30   90.0 %     100.0 %    1.750",
        "ms         citation     10   60.0 %      70.0 %    0.750",
        "",
        "policy     ln pi of    lowest  quarter   median  quarter  highest",
        "untrained  chosen      -300.0   -200.0   -100.0    -50.0    -25.0",
        "untrained  rejected     -30.0    -20.0    -10.0     -5.0     -2.5",
        "ms         chosen      -300.0   -200.0   -100.0    -50.0    -25.0",
        "ms         rejected     -30.0    -20.0    -10.0     -5.0     -2.5",
        "",
        "answers to 40 prompts of 20 questions",
        "",
        "policy      k  questions     EM     F1  has gold  has form",
        "untrained   0         20   10.0   20.0    30.0 %    40.0 %",
        "untrained   1         20   50.0   60.0    70.0 %    80.0 %",
        "ms          0         20   10.0   20.0    30.0 %    40.0 %",
        "ms          1         20   50.0   60.0    70.0 %    80.0 %",
        "ms: F1 +12.5 (95 %: -1.0 to +26.0, noise) against untrained, paired over questions",
    ]
    silent = Comparison(40, 0, 0, tuple(replace(item, answers=(), gain=None) for item in COMPARED.policies))
    assert comparison_lines(silent)[-1].startswith("ms         rejected")


def test_results_are_json() -> None:
    """What ``--json`` prints of them; the same keys that `make test-align` finds in a real run."""
    assert json.loads(json.dumps(asdict(TRAINED)))["curve"][1]["step"] == 600
    tree = json.loads(json.dumps(asdict(COMPARED)))
    assert tree["policies"][0]["gain"] is None
    assert tree["policies"][1]["gain"] == {"mean": 0.125, "low": -0.01, "high": 0.26, "p": 0.08, "questions": 6}
    assert tree["policies"][1]["negatives"][0]["gains"] == 1.0


def _pair(name: str, k: int) -> Pair:
    return Pair(
        id=f"{name}{k}",
        prompt=f"{name} {k}",
        chosen=preferred("So it is [1].", "a"),
        rejected="a",
        negative="bare",
        question_id=name,
        question=f"{name}?",
        answers=("a",),
        k=k,
    )


def test_answers_are_asked_for_all_held_out_questions(tmp_path: Path) -> None:
    """A question without a usable reason has no pair; it is asked all the same, with each number of contexts."""
    pairs = [_pair("q1", 1), _pair("q2", 2)]
    prompts = [
        Prompt(prompt=f"{name} {k}", question_id=name, question=f"{name}?", answers=("a",), k=k)
        for name in ("q0", "q1", "q2")
        for k in (0, 1, 2)
    ]
    write_lines(tmp_path / TRAIN_FILE, [_pair("q9", 0)])
    write_lines(tmp_path / TEST_FILE, pairs)
    assert prompts_for(tmp_path, pairs, most=None) == list(prompts_of(pairs))
    write_lines(tmp_path / PROMPTS_FILE, prompts)
    assert list(read_pairs(tmp_path, held_out=True)) == pairs
    assert prompts_for(tmp_path / TEST_FILE, pairs, most=None) == prompts
    assert prompts_for(tmp_path, pairs, most=2) == prompts[:6]
    (tmp_path / PROMPTS_FILE).write_text('{"prompt": 1}\n')
    with pytest.raises(ReadError, match="line 1"):
        prompts_beside(tmp_path)


def test_an_adapter_that_is_missing_is_told_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no adapter in it"):
        adapter_folders([f"ms={tmp_path}"])
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}")
    assert adapter_folders([f"ms={tmp_path}"]) == {"ms": tmp_path / "adapter"}
    for given in ("ms", "=x", "ms=", f"{UNTRAINED}={tmp_path}"):
        with pytest.raises(InputError, match="write NAME=DIR"):
            adapter_folders([given])


def test_the_defaults_are_those_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = TrainSettings()
    assert (chosen.learning_rate, chosen.batch, chosen.epochs, chosen.samples) == (1e-5, 4, 2, 20_000)
    assert (chosen.loss, chosen.beta, chosen.smoothing) == ("mode-seeking", 0.1, 1e-3)
    with pytest.raises(SystemExit):
        main(["align", "train", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for default in (*map(str, asdict(chosen).values()),):
        assert f"[default: {default}]" in shown


def test_pairs_whose_split_leaks_are_not_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = replace(_pair("q1", 1), gold_sources=("passage:p1",))
    write_lines(tmp_path / TRAIN_FILE, [source])
    write_lines(tmp_path / TEST_FILE, [replace(_pair("q2", 1), gold_sources=("passage:p1",))])
    with pytest.raises(SystemExit) as end:
        main(["align", "train", str(tmp_path), "--model", "m", "--out", str(tmp_path / "t")])
    assert end.value.code
    assert "1 sources that held-out answers rest on are shown in training: passage:p1;" in capsys.readouterr().err
    assert not (tmp_path / "t").exists()
