#!/usr/bin/env bash
# typer 0.29.2 beside click 8.5.1, from PyPI.
# Guess: Typer is built on Click. A command may raise click.UsageError or click.ClickException, ask click.get_current_context(),
# and `typer.main.get_command` gives the click.Command that tools for Click (documentation, completion, test runners) take.
# Seen: typer has a copy of Click inside and does not require Click any more (it requires pydantic). Nothing warns, for both import
# well side by side. click.UsageError leaves a command as a traceback with exit code 1, where it was one line with exit code 2.
# click.get_current_context(silent=True) is None. The command is no click.Command, typer.Exit no click.exceptions.Exit. A tool that
# asks `isinstance(command, click.Group)` finds no commands. Added to a group of Click, the same command raises as one wishes, for
# then Click is around it: a test through Click's own runner passes, and the installed script fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check typer==0.29.2 click==8.5.1
cat > "$folder/look.py" <<'PYTHON'
import sys
from importlib.metadata import requires

import click
import typer
from click.testing import CliRunner as ClickRunner
from typer.testing import CliRunner

app = typer.Typer()
seen = []


@app.callback()
def main() -> None:
    """A group."""


@app.command()
def ask() -> None:
    seen.append(click.get_current_context(silent=True) is not None)
    raise click.UsageError("no such name")


command = typer.main.get_command(app)
alone = CliRunner().invoke(app, ["ask"])
group = click.Group("outer")
group.add_command(command, "inner")
inside = ClickRunner().invoke(group, ["inner", "ask"])
needs = [line.split(" ")[0].split(">")[0] for line in requires("typer") if "extra ==" not in line]
kinds = isinstance(command, click.Command), issubclass(typer.Exit, click.exceptions.Exit)
print(f"typer requires {needs}; its command is a click.Command: {kinds[0]}; its Exit is Click's: {kinds[1]}")
print(f"alone: exit code {alone.exit_code}, {type(alone.exception).__name__}, context of Click: {seen[0]}")
print(f"in a group of Click: exit code {inside.exit_code}, context of Click: {seen[1]}")
as_seen = "click" not in needs and kinds == (False, False) and seen == [False, True]
sys.exit(0 if as_seen and (alone.exit_code, inside.exit_code) == (1, 2) else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"
