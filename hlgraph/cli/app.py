"""The application: global options, the commands, and the one place where errors become messages and exit codes.

Exit codes
----------
0 everything was done; 1 it was done, but something is wrong (a source failed, the doctor found something, a migration is
pending); 2 the input cannot be used; 3 a store or model cannot be used now, trying again may help; 4 something has to be
installed first; 5 any other error; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from hlgraph import __version__, errors
from hlgraph.cli import evaluate, ingest, manage, models, search
from hlgraph.cli.state import State

_EPILOG = (
    "Exit codes: 0 done; 1 done, but something is wrong (a source failed, the doctor found something); 2 bad input; "
    "3 a store or model cannot be used now, try again; 4 something has to be installed; 5 another error; 130 interrupted."
)
app = typer.Typer(
    name="hlgraph",
    help="A hierarchical lexical graph of your documents, and cited answers from it.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
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
        typer.Option(help="Url of the store, such as hlgraph://./folder (also HLGRAPH_STORE).", show_default=False),
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="Settings file in YAML (also HLGRAPH_CONFIG).", show_default=False)
    ] = None,
    version: Annotated[  # noqa: ARG001 - the callback prints it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    context.obj = State(store, config)


for module in (ingest, search, manage, models, evaluate):
    module.register(app)


def _exit_code(error: errors.HLGraphError) -> int:
    if isinstance(error, errors.InputError):
        return 2
    if isinstance(error, errors.MissingExtraError | errors.ModelMissingError):
        return 4
    return 3 if error.retryable else 5


def _report(error: errors.HLGraphError, *, is_json: bool) -> None:
    if is_json:
        tree = {"error": {"type": type(error).__name__, "message": str(error), "retryable": error.retryable}}
        print(json.dumps(tree, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"hlgraph: {error}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; never returns."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(given, standalone_mode=False)
    except Abort:
        print("hlgraph: interrupted; run the same command again to go on", file=sys.stderr)
        code = 130
    except TyperException as error:
        print(f"hlgraph: {error.format_message()}; see: hlgraph --help", file=sys.stderr)
        code = 2
    except errors.HLGraphError as error:
        _report(error, is_json="--json" in given)
        code = _exit_code(error)
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
