"""Training on the CPU of a tiny random model, by TRL: its loss is ours, the reference stays, and what is saved comes back.

Not collected by `make test`, since torch is heavy: `make test-align` installs the extra and runs these.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hlgraph.align.contest import UNTRAINED, compare
from hlgraph.align.losses import dpo, mode_seeking
from hlgraph.align.make import Context, Reasoned, Task, pairs_of, prompt_of, tasks_of
from hlgraph.align.pairs import NEGATIVES, PROMPTS_FILE, TEST_FILE, TRAIN_FILE, Pair, Piece, write_lines
from hlgraph.align.train import (
    METRICS_FILE,
    Loss,
    TrainSettings,
    TransformersPolicy,
    beyond_reach,
    encoded,
    load,
    train,
    with_adapter,
)
from hlgraph.cli.app import main
from hlgraph.errors import InputError
from hlgraph.evaluate.datasets import Question

NAMES = ("Mara Quill", "Ivo Brandt", "Lene Voss", "Otto Falk", "Rika Sund", "Palle Dorn")
THINGS = ("bridge", "mill", "harbour", "tower", "school", "lighthouse")
QUICK = TrainSettings(learning_rate=1e-2, epochs=6, rank=8, log_steps=1, save_steps=12, device="cpu")


def made_pairs() -> list[Pair]:
    found = []
    for at, (name, thing) in enumerate(zip(NAMES, THINGS, strict=True)):
        question = Question(f"q{at}", f"Who built the {thing}?", frozenset({f"p{at}"}), answers=(name,))
        texts = (f"The {thing} was built by {name}.", f"The {THINGS[at - 1]} is very old.")
        contexts = tuple(Context(text, Piece(f"c{at}{n}", "chunk", (f"u{at}{n}",))) for n, text in enumerate(texts))
        found.append(Reasoned(Task(question, contexts), f"The {thing} was built by {name} [1].", "made-up"))
    return pairs_of(found, negatives=NEGATIVES)


PAIRS = made_pairs()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, make_model: Callable[[Path, Iterable[str]], str]) -> str:
    texts = [text for pair in PAIRS for text in (pair.prompt, pair.chosen, pair.rejected)]
    return make_model(tmp_path_factory.mktemp("model"), texts)


@pytest.fixture(scope="module")
def trained(model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    found = train(PAIRS, model, folder=folder, settings=QUICK)
    assert found.pairs == len(PAIRS)
    assert found.too_long == 0
    assert 0 < found.trained < found.frozen
    return folder


def metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / METRICS_FILE).read_text().splitlines()]


@pytest.mark.parametrize(("loss", "smoothing"), [("mode-seeking", 1e-3), ("mode-seeking", 0.2), ("dpo", 1e-3)])
def test_the_losses_are_those_of_trl(model: str, tmp_path: Path, loss: Loss, smoothing: float) -> None:
    """With one pair a step, TRL's loss is ours of its margin."""
    alone = replace(QUICK, loss=loss, smoothing=smoothing, batch=1, samples=6, epochs=1, learning_rate=3e-2)
    train(PAIRS, model, folder=tmp_path / "t", settings=alone)
    lines = metrics(tmp_path / "t")
    h = np.array([line["margin"] for line in lines])
    ours = mode_seeking(h, smoothing=smoothing).loss if loss == "mode-seeking" else dpo(h).loss
    assert np.abs(h).max() > 0.1
    assert np.abs(ours - [line["loss"] for line in lines]).max() < 1e-6


def test_every_line_of_metrics_has_a_loss(model: str, tmp_path: Path) -> None:
    found = train(
        PAIRS, model, folder=tmp_path / "t", settings=replace(QUICK, batch=1, samples=6, epochs=1, log_steps=4)
    )
    assert [line["step"] for line in metrics(tmp_path / "t") if line["loss"] > 0] == [1, 4]
    assert (found.steps, [line["step"] for line in found.curve]) == (6, [1, 4])


def test_the_margin_rises_and_the_loss_falls(trained: Path) -> None:
    lines = metrics(trained)
    assert lines[0]["step"] == 1
    assert lines[0]["margin"] == pytest.approx(0, abs=1e-6)
    assert lines[0]["loss"] == pytest.approx(2.761231, abs=1e-4)  # L(0)
    epochs = [[line for line in lines if number < line["epoch"] <= number + 1] for number in range(6)]
    margins = [np.mean([line["margin"] for line in some]) for some in epochs]
    assert margins[-1] > max(0.5, margins[0])
    assert np.mean([line["loss"] for line in epochs[-1]]) < 2.3
    assert np.mean([line["preferred"] for line in epochs[-1]]) > 0.8


def test_the_reference_does_not_change_and_the_adapter_comes_back(model: str, trained: Path) -> None:
    before = {name: value.clone() for name, value in load(model, device="cpu").model.state_dict().items()}
    loaded = with_adapter(load(model, device="cpu"), trained)
    base = {name: value for name, value in loaded.model.named_parameters() if "lora_" not in name}
    for name, value in base.items():
        plain = name.removeprefix("base_model.model.").replace(".base_layer.", ".")
        assert torch.equal(value, before[plain])
    found = compare(
        PAIRS,
        [
            (UNTRAINED, lambda: TransformersPolicy(load(model, device="cpu"))),
            ("ms", lambda: TransformersPolicy(loaded)),
        ],
        answer_tokens=40,
    )
    plain, ms = found.policies
    assert plain.margin == 0
    assert ms.margin > 0.5
    assert ms.mode_seeking < plain.mode_seeking
    assert ms.dpo < plain.dpo
    assert (ms.negatives[0].kind, ms.negatives[0].gains) == ("bare", 1)
    assert [item.k for item in ms.answers] == [2]


def test_log_probabilities_are_those_of_one_text_alone(model: str) -> None:
    loaded = load(model, device="cpu")
    texts = [(PAIRS[0].prompt, PAIRS[0].chosen), (PAIRS[0].prompt, PAIRS[0].rejected)]
    together = TransformersPolicy(loaded).log_probabilities(texts)
    for (prompt, answer), found in zip(texts, together, strict=True):
        ids, start = encoded(loaded.tokenizer, prompt, answer=answer)
        with torch.no_grad():
            logs = torch.log_softmax(loaded.model(torch.tensor([ids])).logits[0], dim=-1)
        by_hand = sum(float(logs[at - 1, ids[at]]) for at in range(start, len(ids)))
        assert found == pytest.approx(by_hand, abs=1e-3)
        assert loaded.tokenizer.decode(ids[start:]) == f"{answer}<|end|>"


def test_pairs_that_a_model_cannot_read_are_told(model: str) -> None:
    loaded = load(model, device="cpu")
    assert beyond_reach(loaded, PAIRS) == ""
    long = replace(PAIRS[0], prompt="built by " * 1024)
    assert beyond_reach(loaded, [*PAIRS, long]).endswith("pairs are longer than the 1,024 tokens that the model reads")


def test_a_killed_training_continues_where_its_checkpoint_is(model: str, trained: Path, tmp_path: Path) -> None:
    short = tmp_path / "killed"
    train(PAIRS, model, folder=short, settings=QUICK)
    whole = metrics(trained)
    # As after a kill behind the first checkpoint: no adapter, and lines of steps that no checkpoint holds.
    for later in (short / "checkpoints").iterdir():
        if later.name not in ("checkpoint-12", "README.md"):
            shutil.rmtree(later)
    with pytest.raises(InputError, match="it holds a training; give resume=True"):
        train(PAIRS, model, folder=short, settings=QUICK)
    with pytest.raises(InputError, match="has another beta"):
        train(PAIRS, model, folder=short, settings=replace(QUICK, beta=0.2), resume=True)
    found = train(PAIRS, model, folder=short, settings=QUICK, resume=True)
    again = metrics(short)
    assert found.steps == whole[-1]["step"]
    assert [line["step"] for line in again] == [line["step"] for line in whole]
    assert again[-1]["loss"] == pytest.approx(whole[-1]["loss"], rel=1e-3)


def test_a_file_of_gguf_is_trained_and_compared(
    model: str, make_gguf: Callable[[Path, Path], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_gguf(Path(model), tmp_path / "tiny.gguf")
    capsys.readouterr()
    found = train(PAIRS, file, folder=tmp_path / "t", settings=replace(QUICK, samples=8, epochs=1))
    assert (found.steps, found.curve[0]["loss"]) == (2, pytest.approx(2.761231, abs=1e-4))
    after = TransformersPolicy(with_adapter(load(file, device="cpu"), tmp_path / "t"))
    texts = [(PAIRS[0].prompt, PAIRS[0].chosen)]
    before = TransformersPolicy(load(file, device="cpu"))
    assert after.log_probabilities(texts)[0] != before.log_probabilities(texts)[0]
    assert capsys.readouterr().err == ""


def test_bad_input_is_told(model: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no pair to train on"):
        train([], model, folder=tmp_path / "a")
    with pytest.raises(InputError, match="longer than 5 tokens"):
        train(PAIRS, model, folder=tmp_path / "b", settings=TrainSettings(max_length=5, device="cpu"))
    with pytest.raises(InputError, match="the model cannot be loaded"):
        load(str(tmp_path / "none"), device="cpu")
    with pytest.raises(InputError, match="no adapter in it"):
        with_adapter(load(model, device="cpu"), tmp_path)
    with pytest.raises(InputError, match="batch is 0"):
        TrainSettings(batch=0)


def printed(*arguments: object) -> str:
    """What a command prints, which succeeds."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    assert end.value.code == 0
    return out.getvalue()


def types(value: object) -> object:
    """The keys of a tree, and the types of its leaves; a list has the type of all its items."""
    if isinstance(value, dict):
        return {name: types(item) for name, item in value.items()}
    if isinstance(value, list):
        kinds = [types(item) for item in value]
        assert all(kind == kinds[0] for kind in kinds)
        return kinds[:1]
    return type(value).__name__


SPREAD = dict.fromkeys(("low", "quarter", "median", "three_quarters", "high"), "float")
ANSWERS = {"k": "int", "questions": "int", **dict.fromkeys(("exact", "f1", "contains", "formed"), "float")}
LINE = {
    "step": "int",
    **dict.fromkeys(
        ("epoch", "loss", "margin", "preferred", "log_chosen", "log_rejected", "learning_rate"),
        "float",
    ),
}


def policy_types(gains: str, gain: object) -> dict[str, object]:
    return {
        "name": "str",
        "chosen": SPREAD,
        "rejected": SPREAD,
        **dict.fromkeys(("prefers", "margin", "mode_seeking", "dpo"), "float"),
        "negatives": [{"kind": "str", "pairs": "int", "prefers": "float", "gains": gains, "margin": "float"}],
        "answers": [ANSWERS],
        "gain": gain,
    }


def test_the_commands_train_and_compare_print_json_of_one_shape(model: str, tmp_path: Path) -> None:
    """No snapshot of `make test` has these shapes, for torch is not there."""
    contexts = tuple(Context(f"It is {at}.", Piece(f"c{at}", "chunk", (f"u{at}",))) for at in range(2))
    questions = [Question(f"q{at}", "Who built it?", frozenset({"p"}), answers=("Mara Quill",)) for at in range(5)]
    prompts = [prompt_of(task) for question in questions for task in tasks_of(question, contexts, most=2)]
    write_lines(tmp_path / TRAIN_FILE, PAIRS[:-3])
    write_lines(tmp_path / TEST_FILE, PAIRS[-3:])
    write_lines(tmp_path / PROMPTS_FILE, prompts)
    options = ("--epochs", 1, "--log-steps", 2, "--learning-rate", 1e-2, "--device", "cpu", "--quiet", "--json")
    trained = json.loads(printed("align", "train", tmp_path, "--model", model, "--out", tmp_path / "t", *options))
    assert types(trained) == {
        **dict.fromkeys(("adapter", "metrics"), "str"),
        **dict.fromkeys(("pairs", "too_long", "steps", "trained", "frozen"), "int"),
        "curve": [LINE],
        "seconds": "float",
    }
    assert (trained["pairs"], trained["curve"][-1]["step"]) == (len(PAIRS) - 3, trained["steps"])
    compare = ("align", "compare", tmp_path, "--model", model, "--adapter", f"ms={tmp_path / 't'}", "--device", "cpu")
    figures = ("--answer-tokens", 8, "--out", tmp_path / "figures.json", "--quiet", "--json")
    compared = json.loads(printed(*compare, *figures))
    plain, ms = compared.pop("policies")
    assert types(compared) == dict.fromkeys(("pairs", "prompts", "questions"), "int")
    assert list(compared.values()) == [3, 15, 5]
    assert types(plain) == policy_types("NoneType", "NoneType")
    gain = dict.fromkeys(("mean", "low", "high", "p"), "float") | {"questions": "int"}
    assert types(ms) == policy_types("float", gain)
    assert [item["k"] for item in ms["answers"]] == [0, 1, 2]
    assert json.loads((tmp_path / "figures.json").read_text())["policies"] == [plain, ms]
    tables = printed(*compare, "--ask", 0, "--quiet").splitlines()
    assert tables[0] == "3 pairs; margin and losses against untrained"
    assert not any(line.startswith("answers") for line in tables)
