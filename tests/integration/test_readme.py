"""Every snippet of the README runs, and what it says of the command line is what --help says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hlgraph.retrieve import STRATEGIES

_REPOSITORY = Path(__file__).parents[2]
_README = (_REPOSITORY / "README.md").read_text(encoding="utf-8")
_BIN = Path(sys.executable).parent


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", _README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the reader of the README has it: documents, rows, extractions."""
    found = tmp_path_factory.mktemp("reader")
    shutil.copytree(_REPOSITORY / "hlgraph" / "samples", found / "docs")
    rows = [{"number": n, "headline": f"Row {n}", "body": f"Mara Quill built house {n} in Tessing."} for n in range(3)]
    (found / "articles.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (found / "passages.jsonl").write_text('{"id": "p1", "title": "Quill", "text": "Mara Quill built a house."}\n')
    (found / "extractions.jsonl").write_text(
        '{"passage_id": "p1", "entities": ["Mara Quill"], "triples": [["Mara Quill", "built", "a house"]]}\n'
    )
    return found


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}", **more}


def test_the_shell_snippets_run_in_order(folder: Path) -> None:
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith("pip install"))
    run = subprocess.run(
        ["bash", "-euxc", script], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "Jonas Querl" in run.stdout
    assert "On the Scour of Piers" in run.stdout
    assert "0 added, 0 changed" in run.stdout
    assert "the store is fine" in run.stdout
    assert run.stdout.count('"evidence"') == 1


def test_the_python_snippets_run(folder: Path) -> None:
    for block in _blocks("python"):
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", block.replace("my-graph", "sdk-graph")],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr[-3000:]
        assert "Jonas Querl" in run.stdout
        assert "On the Scour of Piers" in run.stdout


def test_the_pip_line_names_extras_that_exist() -> None:
    import tomllib

    extras = tomllib.loads((_REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"hlgraph\[([\w,]+)\]", _README):
        assert set(names.split(",")) <= set(extras)


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"`?make (\w+)", _README))
    assert {"demo", "test", "setup", "check", "faults", "bench"} <= targets
    for target in targets:
        run = subprocess.run(["make", "-n", target], cwd=_REPOSITORY, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr


def _help(*command: str) -> str:
    run = subprocess.run(
        [str(_BIN / "hlgraph"), *command, "--help"],
        env=_environment(COLUMNS="200", NO_COLOR="1"),
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_the_commands_are_those_of_help() -> None:
    table = re.search(r"\| command \| does \|\n\|---\|---\|\n(.*?)\n\n", _README, flags=re.DOTALL)
    assert table
    named = {name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    shown = set(re.findall(r"^  (\w+)\s{2,}", _help().split("Commands")[1], flags=re.MULTILINE))
    assert named == shown


def test_every_option_named_is_an_option_of_that_command() -> None:
    for name in ("ingest", "search", "eval"):
        line = re.search(rf"^- `{name} (.*?)`\s", _README, flags=re.MULTILINE | re.DOTALL)
        assert line
        shown = _help(name)
        for option in re.findall(r"--[\w-]+", line[1]):
            assert option in shown, (name, option)


def test_every_strategy_is_described() -> None:
    table = _README.split("## Strategies")[1].split("## Measured")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == set(STRATEGIES)
