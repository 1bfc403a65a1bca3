"""The Typer application: global options, registration of commands, and the mapping of errors to messages and exit codes.

Exit codes
----------
0 success; 1 completed, but with a problem (a source failed, an answer was cut off, the doctor found a fault, a migration is
pending); 2 invalid input; 3 a store or model is unavailable, and a retry may help; 4 a dependency or model must be installed
first; 5 any other error; 6 the budget is spent, and what was done is kept; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from hlgraph import __version__, errors
from hlgraph.cli.command import State, option, show_help
from hlgraph.cli.commands import commands
from hlgraph.cli.output import complain, in_options

_INTERRUPTED, _TERMINATED = 130, 143
# Typer keeps the line breaks of a paragraph that begins with \b, and rewraps other paragraphs.
_EPILOG = """\b
Exit codes:
  0    success
  1    completed, but with a problem: a source failed, an answer was
       cut off, the doctor found a fault, a migration is pending
  2    invalid input
  3    a store or model is unavailable; try again
  4    something must be installed first; the message names it
  5    any other error
  6    the budget is spent; run the same command again to continue
  130  interrupted; run the same command again to continue
  143  terminated (SIGTERM); run the same command again to continue

With --json, every command prints one JSON object on standard output; an error is one object on standard error:
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
    pretty_exceptions_enable=False,
    # Plain help: texts may hold [n], examples keep their line breaks, and rich is not imported.
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
        option("URL", "The store, such as hlgraph://./folder (also HLGRAPH_STORE; default: hlgraph://./.hlgraph)."),
    ] = None,
    vectors: Annotated[
        str | None,
        option(
            "URL",
            "The vector store, needed when --store is a graph server, such as https://localhost:9200 "
            "(also HLGRAPH_VECTORS).",
        ),
    ] = None,
    config: Annotated[str | None, option("FILE", "A settings file in YAML (also HLGRAPH_CONFIG).")] = None,
    prompts: Annotated[
        str | None,
        option("DIR", "Prompts of your own, each in place of the one of its name (also HLGRAPH_PROMPTS)."),
    ] = None,
    trace: Annotated[
        str | None,
        option(
            "EXPORTER",
            "Send spans and metrics of OpenTelemetry to console (standard error) or otlp (a collector, which the "
            "OTEL_EXPORTER_OTLP_ variables name; also the setting telemetry.exporter).",
        ),
    ] = None,
    correlation_id: Annotated[
        str | None, option("ID", "Mark the log lines and spans of this command with this id.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - the callback prints it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    context.obj = State(store, vectors, config, prompts, trace, correlation_id, context.invoked_subcommand or "")
    context.call_on_close(context.obj.observed.close)
    show_help(context)


for module in commands():
    if module.app.info.name:
        app.add_typer(module.app)
    else:
        app.registered_commands += module.app.registered_commands
        app.registered_groups += module.app.registered_groups


def exit_code(error: errors.HLGraphError) -> int:
    """The exit code of a command that ends with this error."""
    if isinstance(error, errors.InputError):
        return 2
    if isinstance(error, errors.BudgetError):
        return 6
    if isinstance(error, errors.MissingExtraError | errors.ModelMissingError):
        return 4
    return 3 if error.retryable else 5


def _usage(error: TyperException) -> str:
    message = error.format_message().replace("Value error, ", "")  # prefix of pydantic, which Typer keeps
    for flag in ("--store", "--vectors", "--config", "--prompts"):
        if message.startswith(f"No such option: {flag}"):
            return f"{flag} goes before the command: hlgraph {flag} ... COMMAND ..."
    context = getattr(error, "ctx", None)
    return f"{message} (see: {context.command_path if context else 'hlgraph'} --help)"


def _levels(arguments: list[str]) -> list[str]:
    """The arguments with --explain joined to its value, which may be left out: ``--explain "Who?"`` means short."""
    result: list[str] = []
    for at, word in enumerate(arguments):
        if word == "--":
            return [*result, *arguments[at:]]
        if word == "full" and result and result[-1] == "--explain=short":
            result[-1] = "--explain=full"
        else:
            result.append("--explain=short" if word == "--explain" else word)
    return result


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """SIGTERM ends the block as Ctrl-C does, and its number goes into the list; a handler that is set already stays."""
    received: list[int] = []

    def end(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    is_ours = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if is_ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield received
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@cache
def _commands() -> Callable[..., object]:
    """All commands, cached: Typer rebuilds them from the signatures on each call, which takes longer than most commands."""
    return get_command(app)


def _run(arguments: list[str], *, is_json: bool) -> int:
    """Run a command, print its error, if any, on standard error, and return the exit code."""
    signals: list[int] = []
    try:
        with _terminable() as signals:
            code = _commands()(_levels(arguments), prog_name="hlgraph", standalone_mode=False)
            sys.stdout.flush()
    except TyperException as error:
        complain("UsageError", _usage(error), is_json=is_json)
        return 2
    except errors.HLGraphError as error:
        complain(type(error).__name__, in_options(str(error)), is_json=is_json, is_retryable=error.retryable)
        return exit_code(error)
    except (Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        code, what = (_TERMINATED, "terminated") if signals else (_INTERRUPTED, "interrupted")
        message = f"{what}; run the same command again to continue"
        complain(what.capitalize(), message, is_json=is_json, is_retryable=True)
    return code if isinstance(code, int) else 0


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; always raises SystemExit with the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    is_json = "--json" in words
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack a character
    try:
        code = _run(words, is_json=is_json)
    except (
        BrokenPipeError,
        SystemExit,
    ) as error:  # Typer turns BrokenPipeError into SystemExit(1); completion ends with 0
        code = _discard_output() if getattr(error, "code", 1) else 0
    except (OSError, MemoryError) as error:
        said = str(error) or "not enough memory; free some, or raise the limit of this process"
        complain(type(error).__name__, said, is_json=is_json)
        code = 5
    except Exception as error:
        # A bug. Python's own exit code would be 1, which here means completed with a problem.
        traceback.print_exc()
        complain(type(error).__name__, f"{error}; this is a bug in hlgraph, please report it", is_json=is_json)
        raise SystemExit(5) from error
    sys.exit(code)


def _discard_output() -> int:
    """Send buffered output to the null device, so that Python does not complain at exit; a closed pipe (`| head`) is success."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
