"""The wheel, installed with nothing but its core dependencies into an empty environment, away from the check-out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from dependencies import packages
from packaging.requirements import Requirement
from thoroughness import IS_THOROUGH

from hlgraph.stores import migrate, queries
from hlgraph.stores.migrate import folder

REPOSITORY = Path(__file__).parents[2]
CORE_MIB = 250

PROBE = """
import json, sys
import hlgraph
from hlgraph.stores import migrate, queries
from hlgraph.stores.migrate import folder
print(json.dumps({
    "package": hlgraph.__file__,
    "folders": [str(folder("cypher")), str(folder("migrations"))],
    "queries": list(queries.load_all()),
    "migrations": {kind: [item.checksum for item in migrate.discover(kind)] for kind in sys.argv[1:]},
    "missing": [name for name in hlgraph.__all__ if getattr(hlgraph, name, None) is None],
}))
"""


@dataclass(frozen=True)
class Installed:
    """An environment that holds hlgraph and its core dependencies only (no pip, no setuptools)."""

    home: Path
    wheel: Path

    @property
    def packages(self) -> Path:
        return next(self.home.glob("lib/python*/site-packages"))

    def run(self, *command: str) -> str:
        return run([str(self.home / "bin" / command[0]), *command[1:]], self.home)


def run(command: Sequence[str], cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HLGRAPH"))}
    done = subprocess.run(command, cwd=cwd, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    top = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(top), str(REPOSITORY)], top)
    wheel = next(top.glob("hlgraph-*.whl"))
    home = top / "environment"
    run([sys.executable, "-m", "venv", "--without-pip", str(home)], top)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home / "bin" / "python")]
    run([*pip, "install", "--quiet", *([] if IS_THOROUGH else ["--no-deps"]), str(wheel)], top)
    found = Installed(home, wheel)
    if not IS_THOROUGH:
        _link(found.packages)
    return found


def _link(place: Path) -> None:
    """Put the packages that the wheel requires beside it: those that are installed here, which pip would copy for ten seconds."""
    asked = PathDistribution(next(place.glob("hlgraph-*.dist-info"))).requires or ()
    core = [Requirement(line) for line in asked if "extra ==" not in line]
    for each in {name: held for item in core for name, held in packages(str(item)).items()}.values():
        for file in each.held.files or ():
            there = place / file.parts[0]
            if file.parts[0] not in ("..", "__pycache__") and not there.exists():
                there.symlink_to(Path(str(each.held.locate_file(file.parts[0]))))


def test_the_wheel_holds_every_file_of_the_package(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = set(wheel.namelist())
    files = [path for path in (REPOSITORY / "hlgraph").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = {path.relative_to(REPOSITORY).as_posix() for path in files}
    page = "hlgraph/serve/explorer/"  # of its files the wheel has those that are built
    names = {name for name in names if not name.startswith(page) or name.startswith(f"{page}dist/")}
    names |= {f"hlgraph/_cypher/{path.relative_to(folder('cypher'))}" for path in folder("cypher").rglob("*.cypher")}
    names |= {f"hlgraph/_recipes/{path.name}" for path in folder("recipes").iterdir()}
    assert names - held == set()
    assert {name.partition("/")[0] for name in held - names if "dist-info" not in name} <= {"hlgraph"}
    assert any(name.endswith("licenses/LICENSE") for name in held)


def test_the_queries_and_migrations_are_those_of_the_wheel(installed: Installed) -> None:
    kinds = [kind for kind in migrate.EXTENSIONS if (folder("migrations") / kind).is_dir()]
    found = json.loads(installed.run("python", "-c", PROBE, *kinds))
    assert found["queries"] == list(queries.names())
    assert found["migrations"] == {kind: [item.checksum for item in migrate.discover(kind)] for kind in kinds}
    assert found["missing"] == []
    assert all(Path(place).is_relative_to(installed.packages) for place in [found["package"], *found["folders"]])


def test_the_command_works_without_extras(installed: Installed) -> None:
    version = installed.wheel.name.split("-")[1]
    assert version in installed.run("hlgraph", "--version")
    assert "Usage" in installed.run("hlgraph", "--help")


def test_the_public_names_are_imported_from_an_archive(installed: Installed) -> None:
    said = "import sys; sys.path.insert(0, sys.argv[1]); import hlgraph; print(hlgraph.__file__, hlgraph.Document.__module__)"
    place = f"{installed.wheel}/hlgraph/__init__.py"
    assert installed.run("python", "-c", said, str(installed.wheel)).split() == [place, "hlgraph.records"]


def test_the_core_is_small(installed: Installed) -> None:
    walked = os.walk(installed.packages, followlinks=True)
    files = [Path(folder, name) for folder, _, names in walked if not folder.endswith("__pycache__") for name in names]
    sizes = {path: path.stat().st_size for path in files}
    mib = sum(sizes.values()) / 2**20
    largest = sorted(sizes, key=lambda path: -sizes[path])[:5]
    assert mib < CORE_MIB, f"{mib:.0f} MiB; the largest files are {[path.name for path in largest]}"


MISSING = """
import sys
import hlgraph
from hlgraph.errors import MissingExtraError
from hlgraph.read import read
from hlgraph.settings import ModelSettings, Settings

def models(**names):
    with hlgraph.connect(Settings(store=f"hlgraph://{sys.argv[1]}/s", models=ModelSettings(**names))) as graph:
        made = graph._resources.models
        made.chat if "chat" in names else made.embedder if "embedder" in names else made.reranker

def said(action, *words):
    try:
        action()
    except MissingExtraError as error:
        assert all(word in str(error) for word in ("run: pip install 'hlgraph[", *words)), error
        print(error.extra)
    else:
        raise SystemExit(f"nothing was said of {words}")

said(lambda: models(chat="openai:m"), "the model openai:m")
said(lambda: models(chat="bedrock:m"), "the model bedrock:m")
said(lambda: models(embedder="cohere:m"), "the model cohere:m")
said(lambda: models(reranker="bedrock:m"), "the model bedrock:m")
said(lambda: __import__("hlgraph.integrations.langchain"), "hlgraph in LangChain")
(failure,) = read(["s3://b/k"])
print(str(failure.error).rpartition("[")[2].rstrip("']"))
"""


def test_what_needs_an_extra_says_its_line(installed: Installed, tmp_path: Path) -> None:
    # Extraction by a chat model is not among them: Typer brings pydantic by now. tests/unit/extract/test_chat.py hides it.
    said = installed.run("python", "-c", MISSING, str(tmp_path)).split()
    assert said == ["openai", "bedrock", "cohere", "aws", "langchain", "aws"]
