"""The blocks of README.md and docs/, and a reader who runs them in order.

===========  ==================================================================================================
block        what the reader does with it
===========  ==================================================================================================
``sh``       runs each line; a line that is one ``hlgraph`` command runs in this process, without a new interpreter
``python``   runs it in this process; the blocks of one page share their names
``output``   compares it with what the block above printed: these lines, in this order; ``...`` matches anything
``yaml``     reads it as a settings file
``text``     nothing
===========  ==================================================================================================
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest import mock

from command_line import call

from hlgraph.settings import Settings, load
from hlgraph.stores.open import GRAPHS, VECTORS

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
BUILT = ("_build", "notebooks")
PAGES = (README, *(path for path in sorted(DOCS.rglob("*.md")) if path.relative_to(DOCS).parts[0] not in BUILT))
LANGUAGES = {"sh", "python", "output", "yaml", "cypher", "text", "mermaid"}
_GENERATED = re.compile(r"(^<!-- generated: [\w-]+ -->)(.*?)(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", flags=re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"[^\"$]*\"|\s#.*")
_SHELL = re.compile(r"[|<>;&`*$]")  # outside of quotes: a line for a shell
# What a reader does once, and the tests have done: tests of their own look at these lines.
_DONE = ("pip install", "make ", "git clone", "cd ", ". .venv")


@dataclass(frozen=True)
class Block:
    """One block of one page; ``place`` is the page and the line of its first line, ``heading`` what it stands under."""

    place: str
    heading: str
    language: str
    text: str

    @property
    def needs_servers(self) -> bool:
        """Whether Neo4j and OpenSearch have to run for it: by its page, or in README by its heading."""
        return self.place.startswith(("docs/how-to/servers.md", "docs/how-to/analysts.md")) or (
            self.place.startswith("README.md") and self.heading.startswith("Servers")
        )


def name_of(page: Path) -> str:
    """The page as people name it."""
    return page.relative_to(REPOSITORY).as_posix()


def text_of(page: Path) -> str:
    """The text of a page, with empty lines for the lists that are generated."""
    return _GENERATED.sub(lambda found: found[1] + "\n" * found[2].count("\n"), page.read_text(encoding="utf-8"))


def blocks(page: Path, *languages: str) -> list[Block]:
    """The blocks of a page, of these languages or of all; directives of Sphinx are none."""
    text = text_of(page)
    found = []
    for match in _BLOCK.finditer(text):
        language = match[2].strip()
        if not language.startswith("{") and (not languages or language in languages):
            line = text.count("\n", 0, match.start()) + 2
            body = re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE)
            headings = re.findall(r"^#+ (.*)$", text[: match.start()], flags=re.MULTILINE)
            found.append(Block(f"{name_of(page)}:{line}", headings[-1] if headings else "", language, body))
    return found


def shell_lines(text: str) -> list[str]:
    """The commands of a block: each on one line, but for those that are given lines up to a word (``<<'END'``)."""
    found = []
    lines = iter(text.replace("\\\n", " ").splitlines())
    for line in lines:
        if given := re.search(r"<<'(\w+)'", line):
            found.append("\n".join([line, *takewhile(lambda each: each != given[1], lines), given[1]]))
        elif line.strip() and not line.startswith("#"):
            found.append(line.strip())
    return found


@dataclass
class Reader:
    """Runs the blocks of pages in one folder, as a reader would.

    ``variables`` are the environment variables beside those of the tests; ``said`` is what the last block printed.
    """

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    said: str = ""

    def read(self, page: Path, *, has_servers: bool = False) -> str:
        """Run the blocks of a page: those that need servers, or the others. Returns what the first one that failed said."""
        self.names = {"__name__": "__main__"}
        with self._at_home(), mock.patch.dict(GRAPHS), mock.patch.dict(VECTORS):
            for block in blocks(page):
                if block.needs_servers != has_servers:
                    continue
                try:
                    self._run(block)
                except Exception as error:  # noqa: BLE001 - whatever a block raises is what a reader would see
                    return f"{block.place}: {error!r}"
        return ""

    def run(self, *lines: str) -> None:
        """Run some commands."""
        with self._at_home():
            for line in lines:
                self._line(line)

    def _run(self, block: Block) -> None:
        match block.language:
            case "sh":
                self.said = "".join(self._line(line) for line in shell_lines(block.text))
            case "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(block.text, block.place, "exec", dont_inherit=True), self.names)  # noqa: S102 - the pages are ours
                self.said = out.getvalue()
            case "output":
                missing = missing_line(block.text, self.said)
                assert missing is None, f"not printed: {missing!r}, in:\n{self.said[-3000:]}"
            case "yaml":
                path = self.folder / "block.yaml"
                path.write_text(block.text, encoding="utf-8")
                assert load(path, environment={"CHAT_URL": ""}) != Settings()

    def _line(self, line: str) -> str:
        if line.startswith(_DONE):
            return ""
        words = [] if _SHELL.search(_QUOTED.sub("", line)) else shlex.split(line, comments=True)
        match words:
            case ["export" | "unset" as command, *assignments]:
                for key, _, value in (each.partition("=") for each in assignments):
                    for variables in (os.environ, self.variables):
                        variables.pop(key, None)
                        variables.update({key: value} if command == "export" else {})
                return ""
            # The SDK of OpenTelemetry is that of its process, and stays shut down there: `--trace` gets a process of its own.
            case ["hlgraph", *arguments] if "--trace" not in words:
                done = call(*arguments)
                assert done.code == 0, f"{line}: exit code {done.code}: {done.err[-3000:]}"
                return done.out
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{line}: {run.stdout[-1000:]}{run.stderr[-3000:]}"
        return run.stdout

    @contextlib.contextmanager
    def _at_home(self) -> Iterator[None]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with mock.patch.dict(os.environ, {**self.variables, "PATH": path}), contextlib.chdir(self.folder):
            yield


def missing_line(wanted: str, said: str) -> str | None:
    """The first line that was not printed, in order; None if all were. Runs of white space count as one blank."""
    lines = iter([" ".join(line.split()) for line in said.splitlines()])
    for words in (" ".join(line.split()) for line in wanted.splitlines()):
        pattern = ".*".join(re.escape(part) for part in words.split("..."))
        if words not in {"", "..."} and not any(re.fullmatch(pattern, each) for each in lines):
            return words
    return None
