"""What --help says, word by word, and what it costs.

The texts lie in tests/data/cli/help, one file a command. They are compared without the line breaks, the types and the
braces that Typer puts there, which differ between its versions. After a change that is meant:
``HLGRAPH_UPDATE_SNAPSHOTS=1 pytest tests/integration/test_cli_help.py``, and look at the difference.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from hlgraph.cli import main
from hlgraph.cli.app import app
from hlgraph.read.formats import FORMATS
from hlgraph.retrieve import STRATEGIES

FOLDER = Path(__file__).parents[1] / "data" / "cli" / "help"
ENVIRONMENT = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
TYPES = re.compile(r" <(?:str|int|float|path|bool|list\[str\])>")
# What makes a start slow; the standard library's sqlite3 stands for the stores.
HEAVY = {
    "numpy",
    "scipy",
    "msgspec",
    "yaml",
    "sqlite3",
    "lark",
    "onnxruntime",
    "tokenizers",
    "pypdf",
    "trafilatura",
    "rich",
}
MOST = 400  # modules, those of the interpreter among them; bench_startup.py measures the time
IMPORTED = """
import sys
from hlgraph.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print("\\nexit", end.code, *sorted(sys.modules))
"""


def commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [path, *(found for name, each in inner.items() for found in commands(each, (*path, name)))]


GROUPS = [
    (name,)
    for name in (
        "models",
        "keys",
        "cypher",
        "groups",
        "communities",
        "extract",
        "embeddings",
        "hierarchy",
        "failures",
        "questions",
        "quality",
        "merges",
        "domain",
        "align",
        "hold",
        "history",
        "receipts",
    )
]
COMMANDS = commands(typer.main.get_command(app))


def shown(*path: str) -> str:
    """The help of a command as it is printed, without types and braces."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as end:
        main([*path, "--help"])
    assert end.value.code == 0
    return re.sub(r"\{(\w+)\}", r"\1", TYPES.sub("", out.getvalue()))


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: "-".join(("hlgraph", *path)))
def test_the_help_is_as_documented(path: tuple[str, ...]) -> None:
    file = FOLDER / f"{'-'.join(('hlgraph', *path))}.txt"
    found = shown(*path)
    if os.environ.get("HLGRAPH_UPDATE_SNAPSHOTS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found, encoding="utf-8")
    wanted = file.read_text(encoding="utf-8")
    assert _without_lists(found) == _without_lists(wanted), f"see the docstring of {Path(__file__).name}"


def _without_lists(text: str) -> str:
    """The words of a help, without the names of strategies and formats: those are read from their folders."""
    words = re.sub(r"One of: [^.]*\.", "One of: ...", " ".join(text.split()))
    return re.sub(r"Read every source as .* whatever", "Read every source as ... whatever", words)


def test_there_is_a_snapshot_of_every_command_and_no_other() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {"-".join(("hlgraph", *path)) for path in COMMANDS}


def test_the_commands_are_those_of_the_contract() -> None:
    first = {path[0] for path in COMMANDS if path}
    promised = (
        "init ingest search answer communities hierarchy delete stats migrate doctor reconcile journal config models eval"
        " bench cypher extract ledger plan failures quality merges domain align"
    )
    assert first >= set(promised.split())  # a new file may add a command, and none goes


@pytest.mark.parametrize(
    "path",
    [path for path in COMMANDS if path not in GROUPS],
    ids="-".join,
)
def test_every_command_has_an_example_and_json(path: tuple[str, ...]) -> None:
    text = shown(*path)
    assert re.search(r"^  Examples?:\n    \S*hlgraph", text, flags=re.MULTILINE)
    assert "--json" in text


def test_the_help_names_every_strategy_and_format() -> None:
    for command in ("search", "answer"):
        line = re.search(r"One of: (.*?)\.", " ".join(shown(command).split()))
        assert line
        assert set(line[1].split(", ")) == set(STRATEGIES)
    words = set(re.findall(r"\w+", shown("ingest")))
    assert set(FORMATS) <= words


def test_brackets_are_shown() -> None:
    assert "with citations [n]" in shown("answer")


def test_every_exit_code_is_documented() -> None:
    table = shown().split("Exit codes:")[1].split("Every command")[0]
    assert re.findall(r"^\s+(\d+)  ", table, flags=re.MULTILINE) == ["0", "1", "2", "3", "4", "5", "6", "130", "143"]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["ingest", "--help"], ["eval", "--help"], ["cypher", "--help"]]
)
def test_help_imports_nothing_heavy_and_little_at_all(arguments: list[str]) -> None:
    run = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
    words = run.stdout.splitlines()[-1].split()
    assert words[:2] == ["exit", "0"]
    assert {name.partition(".")[0] for name in words} & HEAVY == set()
    assert len(words) < MOST


@pytest.mark.parametrize(
    "path",
    [(), *GROUPS],
    ids=lambda path: "-".join(("hlgraph", *path)),
)
def test_no_command_is_told_what_there_is(path: tuple[str, ...]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(list(path))
    assert end.value.code == 2
    assert out.getvalue() == ""
    assert "Commands:" in err.getvalue()


@pytest.mark.parametrize("path", COMMANDS, ids="-".join)
def test_the_examples_use_what_there_is(path: tuple[str, ...]) -> None:
    for line in re.findall(r"^    .*\bhlgraph (.*)$", shown(*path), flags=re.MULTILINE):
        words = shlex.split(re.sub(r" > .*", "", line))
        start = 2 if words[0] == "--store" else 0
        command = tuple(words[start : start + 2])
        name = command if command in COMMANDS else command[:1]
        assert name in COMMANDS, line
        wanted = {word for word in words[start:] if word.startswith("--")}
        assert wanted <= set(re.findall(r"--[\w-]+", shown(*name))), line
