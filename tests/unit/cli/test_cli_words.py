"""The command line speaks of its options, and its exit codes are those of its help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from hlgraph.cli import main
from hlgraph.cli.app import app
from hlgraph.cli.output import OTHER, SAME, in_options, option


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("by is 'x'; choose 'rules' or 'chat'", "--by is 'x'; choose 'rules' or 'chat'"),
        ("mapping uri=x: 'uri' cannot be mapped", "--map uri=x: 'uri' cannot be mapped"),
        ("mapping['text'] is 5 (an int); give a text", "mapping['text'] is 5 (an int); give a text"),
        ("no chat model, or leave by at 'rules'", "no chat model, or leave --by at 'rules'"),
        ("mode is 'hybrid', which is a search mode; write search_mode='hybrid'",
         "--mode is 'hybrid', which is a search mode; write --search-mode hybrid"),
        ("write extractions=['FILE']", "write --extractions FILE"),
        ("kind is 'x'", "kind is 'x'"),
        ("year = 3 and k is 4", "year = 3 and k is 4"),
    ],
)  # fmt: skip
def test_error_messages_name_options_instead_of_parameters(said: str, written: str) -> None:
    assert in_options(said) == written


def test_every_option_that_an_error_may_name_is_an_option_of_a_command() -> None:
    def names(command: object) -> Iterator[str]:
        for parameter in command.params:  # type: ignore[attr-defined]
            yield from (*parameter.opts, parameter.metavar or "")
        for inner in getattr(command, "commands", {}).values():
            yield from names(inner)

    known = set(names(typer.main.get_command(app)))
    wanted = {word for name in (*SAME, *OTHER) for word in option(name).split(" or ")}
    assert wanted <= known, wanted - known


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ingest", "nowhere"], "'nowhere': there is no such file or folder; nothing was read"),
        (["ingest", ".", "no*.txt"], "'no*.txt': no file matches"),
        (
            ["ingest", "https://a.org/b"],
            "https://a.org/b: no address is fetched; nothing was read: download it, and name the file",
        ),
        (["plan", "nowhere"], "'nowhere': there is no such file"),
        (["domain", "infer", "nowhere"], "'nowhere': there is no such file"),
        (["extract", "export", "nowhere", "--out", "x"], "'nowhere': there is no such file"),
        (["models", "install", "--from", "nowhere"], "nowhere: no such folder"),
        (["search", "x", "--corpus", ""], "the name of the corpus is ''"),
        (["search", "x", "--k", "0"], "--k is 0"),
        (["search", "x", "--strategy", "chunk", "--by", "chat"], "--by is 'chat'"),
        (["ingest", ".", "--max-bytes", "0"], "--max-bytes is 0"),
        (["ingest", ".", "--map", "uri=x"], "--map uri=x"),
        (["ingest", ".", "--adapt"], "write --extract chat, or leave --adapt out"),
        (["answer", "x", "--context-tokens", "4"], "--context-tokens is 4"),
    ],
)
def test_invalid_values_exit_with_2_and_name_the_option(
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.txt").write_text("The bridge is old.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--json"])
    assert caught.value.code == 2
    assert says in json.loads(capsys.readouterr().err)["error"]["message"]


def test_a_source_without_its_reader_exits_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 ")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(SystemExit) as caught:
        main(["ingest", ".", "--json"])
    assert caught.value.code == 4
    assert "hlgraph[pdf]" in capsys.readouterr().out
