"""Prompts of a user's own in place of those of hlgraph: where they reach, and which are refused."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

import hlgraph
from hlgraph.errors import SettingsError
from hlgraph.models.prompts import prompts_of, read_prompt, shipped
from hlgraph.retrieve.strategies.local import LocalRetriever
from hlgraph.settings import ModelSettings, Settings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_SELECT = "version: select/mine\n=== system ===\nPick, please.\n=== user ===\n$kept $statements $question"
_LOCAL = LocalRetriever(by="chat", cycles=1)


def _settings(folder: Path, prompts: Path) -> Settings:
    return Settings(store=f"hlgraph://{folder}/s", models=ModelSettings(prompts=str(prompts)))


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "select.md").write_text(_SELECT)
    return folder


def test_a_prompt_of_the_folder_is_asked_and_named_and_the_others_stay(tmp_path: Path, prompts: Path) -> None:
    chat = ScriptedChat(lambda system, user: "NONE")
    with hlgraph.connect(_settings(tmp_path, prompts), embedder=WordEmbedder(), chat=chat) as graph:
        graph.ingest(DOCUMENTS)
        found = graph.search("Who designed the bridge?", strategy=_LOCAL)
        assert {system for system, _, _ in chat.asked} == {"Pick, please."}
        assert "select/mine+" in repr(found.explain)
        assert asyncio.run(_asked(graph, chat)) == "Pick, please."
        list(graph.answer_stream("Who designed the bridge?", strategy=_LOCAL))
        answer = read_prompt(shipped()["answer"])
        assert {system for system, _, _ in chat.asked} <= {"Pick, please.", answer.system}
    assert read_prompt(shipped()["select"]).version != "select/mine"


async def _asked(graph: hlgraph.HLGraph, chat: ScriptedChat) -> str:
    chat.asked.clear()
    await hlgraph.AsyncHLGraph(graph).search("Who is Mara Quill?", strategy=_LOCAL)
    return chat.asked[0][0]


def test_an_edited_prompt_counts_with_the_next_call(prompts: Path) -> None:
    for text in ("Pick, please.", "Choose some."):
        (prompts / "select.md").write_text(_SELECT.replace("Pick, please.", text))
        with prompts_of(prompts):
            assert read_prompt(shipped()["select"]).system == text


def test_every_shipped_prompt_can_be_replaced_by_a_copy_of_itself(tmp_path: Path) -> None:
    for name, path in shipped().items():
        text = path.read_text()
        version = text.splitlines()[0]
        (tmp_path / f"{name}.md").write_text(text.replace(version, f"version: {name}/mine"))
    with prompts_of(tmp_path):
        for name, path in shipped().items():
            assert read_prompt(path) == replace(_read_plainly(path), version=f"{name}/mine")


def _read_plainly(path: Path) -> hlgraph.models.prompts.Prompt:
    with prompts_of(None):
        return read_prompt(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("selct.md", _SELECT, r"selct\.md: no prompt .*; did you mean select\.md\? name the file .*subqueries\.md$"),
        ("select.txt", _SELECT, r"select\.txt: no prompt has this name; did you mean select\.md\?"),
        ("select.md", "Pick.", r"select\.md: not a prompt; .*; the prompt that comes with hlgraph is .*select\.md"),
        ("select.md", _SELECT.replace("select/mine", "pick/1"), r"its version is pick/1; write select/ and a name"),
        ("select.md", _SELECT.replace("mine", "2"), r"its version is select/2; .* other than select/2"),
        ("select.md", _SELECT + " It costs $5.", r"a \$ of the user message begins no placeholder; write \$\$"),
        (
            "select.md",
            _SELECT.replace("$kept", "$held"),
            r"it lacks \$kept, add it; nothing fills \$held, take it out$",
        ),
        (
            "select.md",
            _SELECT.replace("$kept", "all"),
            r"its placeholders are not those of .*select\.md; it lacks \$kept, add it$",
        ),
        (
            "select.md",
            _SELECT.replace("Pick", "Pick of $statements"),
            r"\$statements stands in the system message, where",
        ),
        (
            "select.md",
            _SELECT + " $more",
            r"its placeholders are not those of .*select\.md; nothing fills \$more, take it out$",
        ),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError, match=message), prompts_of(tmp_path):
        pass


def test_a_prompt_in_another_encoding_is_refused(prompts: Path) -> None:
    (prompts / "select.md").write_bytes(_SELECT.encode("utf-16"))
    with (
        pytest.raises(SettingsError, match=r"prompts/select.md cannot be read .* folder of prompts in UTF-8"),
        prompts_of(prompts),
    ):
        pass


def test_a_mark_of_the_encoding_and_hidden_files_do_no_harm(prompts: Path) -> None:
    (prompts / "select.md").write_text(_SELECT, encoding="utf-8-sig")
    (prompts / ".git").mkdir()
    (prompts / ".DS_Store").write_bytes(b"\x00\xff")
    with prompts_of(prompts):
        assert read_prompt(shipped()["select"]).version == "select/mine"


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is empty; put prompts such as"), prompts_of(tmp_path):
        pass


def test_a_folder_that_is_missing_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    message = re.escape("none cannot be read ([Errno 2] No such file or directory")
    with pytest.raises(SettingsError, match=message), hlgraph.connect(_settings(tmp_path, tmp_path / "none")) as graph:
        graph.ingest(DOCUMENTS)
    assert not (tmp_path / "s").exists()
