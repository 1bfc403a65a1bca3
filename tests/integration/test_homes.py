"""The tests read and write nothing of the user who runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from hlgraph.models.install import default_root

REPOSITORY = Path(__file__).parents[2]
# Runs hlgraph, and notes which files it opens, makes, moves and removes: (whether it writes, path).
AUDITED = """
import atexit, json, os, sys
seen = set()
READ = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
def note(event, arguments):
    path = arguments[0] if arguments else None
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    if event == "open":
        seen.add((bool(arguments[2] & READ), os.path.abspath(os.fsdecode(path))))
    elif event in ("os.listdir", "os.scandir"):
        seen.add((False, os.path.abspath(os.fsdecode(path))))
    elif event in ("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.utime", "sqlite3.connect"):
        seen.add((True, os.path.abspath(os.fsdecode(path).removeprefix("file:").partition("?")[0])))
    elif event in ("os.rename", "os.link", "os.symlink"):
        seen.update((True, os.path.abspath(os.fsdecode(each))) for each in arguments[:2])
sys.addaudithook(note)
atexit.register(lambda: open(os.environ["SEEN"], "w").write(json.dumps(sorted(seen))))
from hlgraph.cli import main
main()
"""


def test_a_command_reads_and_writes_in_the_folders_of_its_test(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / "a.md").write_text(
        "# Mill\n\nThe mill of Tessing was built in 1871 by Jonas Querl.\n", encoding="utf-8"
    )
    own = {tmp_path, Path.home(), Path(os.devnull)}
    system = {
        Path(name) for name in ("/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/sys", "/usr", "/System")
    }
    installed = {Path(sys.prefix), Path(sys.base_prefix), Path(sysconfig.get_path("stdlib")), default_root()}
    for number, command in enumerate(
        (["ingest", "a.md"], ["search", "Who built the mill?"], ["answer", "Who?"], ["doctor"])
    ):
        seen = tmp_path / f"{number}.json"
        subprocess.run(
            [sys.executable, "-c", AUDITED, *command],
            cwd=tmp_path,
            env={**os.environ, "SEEN": str(seen), "TMPDIR": str(tmp_path)},
            check=True,
            capture_output=True,
        )
        found = [(is_written, Path(path)) for is_written, path in json.loads(seen.read_text(encoding="utf-8"))]
        assert any(path.is_relative_to(Path.home()) for _, path in found) or command[0] != "ingest", (
            "the cache is at home"
        )
        for is_written, path in found:
            allowed = own if is_written else own | system | installed | {REPOSITORY}
            assert any(path.is_relative_to(folder) for folder in allowed), (command, is_written, path)
    assert Path.home().is_relative_to(tmp_path_factory.getbasetemp())


def test_the_state_of_the_user_changes_no_test(tmp_path: Path) -> None:
    """A home where every file of hlgraph is damaged, and settings that would be refused."""
    poison = tmp_path / "POISON"
    for place in ("cache", "state", "data", "config"):
        (poison / place / "hlgraph").mkdir(parents=True)
        for name in ("embeddings-1.sqlite", "hlgraph.yaml", "replies-1.sqlite", "images"):
            (poison / place / "hlgraph" / name).write_text("POISON", encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in poison.rglob("*")}
    folders = {f"XDG_{place.upper()}_HOME": str(poison / place) for place in ("cache", "state", "data", "config")}
    settings = {f"HLGRAPH_{name}": str(poison) for name in ("CACHE", "CHAT", "CONFIG", "CORPUS", "LEDGER", "STORE")}
    asked = ["tests/unit/house/test_trips.py", "tests/integration/test_homes.py::test_the_environment_of_a_test"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "tests", *asked],
        cwd=REPOSITORY,
        env={**os.environ, **folders, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert {path: path.stat().st_mtime_ns for path in poison.rglob("*")} == before


def test_the_environment_of_a_test() -> None:
    assert [name for name, value in os.environ.items() if "POISON" in value] == []
