"""The application: global options, the commands, and the one place where errors become messages and exit codes.

Exit codes
----------
0 everything was done; 1 it was done, but something is wrong (a source failed, the doctor found something, a migration is
pending); 2 the input cannot be used; 3 a store or model cannot be used now, trying again may help; 4 something has to be
installed first; 5 any other error; 6 the budget is spent, what was done is kept; 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from hlgraph import __version__, errors
from hlgraph.cli.commands import commands
from hlgraph.cli.output import complain
from hlgraph.cli.state import State, show_help

_INTERRUPTED = 130
# Typer prints help as it stands here behind \b, and fills paragraphs otherwise.
_EPILOG = """\b
Exit codes:
  0    everything was done
  1    done, but something is wrong: a source failed, the doctor found
       something, a migration is pending
  2    the input cannot be used
  3    a store or model cannot be used now; try again
  4    something has to be installed first; the message says what
  5    another error
  6    the budget is spent; the same command again goes on
  130  interrupted; the same command again goes on

Every command takes --json and then prints one JSON object on standard output; an error is one on standard error:
{"error": {"type", "message", "retryable"}}.

\b
Example:
  hlgraph ingest docs/
  hlgraph answer "Who designed the bridge?"
"""
app = typer.Typer(
    name="hlgraph",
    help="A hierarchical lexical graph of your documents, and cited answers from it.",
    epilog=_EPILOG,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help: texts hold [n] and (...), examples keep their lines, and rich is not imported.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        print(f"hlgraph {__version__}")
        raise typer.Exit


@app.callback()
def _globals(
    context: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The store, such as hlgraph://./folder (also HLGRAPH_STORE; default: hlgraph://./.hlgraph).",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The store of the vectors where --store is a graph server, such as https://localhost:9200 "
            "(also HLGRAPH_VECTORS).",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings in YAML (also HLGRAPH_CONFIG).", show_default=False)
    ] = None,
    version: Annotated[  # noqa: ARG001 - the callback prints it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    context.obj = State(store, vectors, config)
    show_help(context)


for module in commands():
    module.register(app)


def _exit_code(error: errors.HLGraphError) -> int:
    if isinstance(error, errors.InputError):
        return 2
    if isinstance(error, errors.BudgetError):
        return 6
    if isinstance(error, errors.MissingExtraError | errors.ModelMissingError):
        return 4
    return 3 if error.retryable else 5


def _usage(error: TyperException) -> str:
    message = error.format_message().replace("Value error, ", "")  # pydantic's, which Typer leaves in
    for option in ("--store", "--vectors", "--config"):
        if message.startswith(f"No such option: {option}"):
            return f"{option} stands before the command: hlgraph {option} ... COMMAND ..."
    context = getattr(error, "ctx", None)
    return f"{message} (see: {context.command_path if context else 'hlgraph'} --help)"


def _run(arguments: list[str], *, is_json: bool) -> int:
    """Run a command; what goes wrong is said on standard error. Returns the exit code."""
    try:
        code = app(arguments, prog_name="hlgraph", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        complain("UsageError", _usage(error), is_json=is_json)
        return 2
    except errors.HLGraphError as error:
        complain(type(error).__name__, str(error), is_json=is_json, is_retryable=error.retryable)
        return _exit_code(error)
    except (Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        complain("Interrupted", "interrupted; run the same command again to go on", is_json=is_json, is_retryable=True)
    return code if isinstance(code, int) else 0


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; never returns: the exit code is in the SystemExit."""
    given = sys.argv[1:] if arguments is None else arguments
    is_json = "--json" in given
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to stop
    try:
        code = _run(given, is_json=is_json)
    except (BrokenPipeError, SystemExit):  # Typer turns the first into the second
        code = _nobody_reads()
    except OSError as error:
        complain(type(error).__name__, str(error), is_json=is_json)
        code = 5
    except Exception as error:
        # A mistake of ours: Python would end with 1, which means something else here.
        traceback.print_exc()
        complain(type(error).__name__, f"{error}; this is a mistake in hlgraph, please report it", is_json=is_json)
        raise SystemExit(5) from error
    sys.exit(code)


def _nobody_reads() -> int:
    """What is still buffered goes nowhere, so that Python does not complain when it ends; as with `| head`, all is well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
