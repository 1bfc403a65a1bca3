"""The command line of the launcher of the model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from local_model import install, operate
from local_model.operate import Served
from local_servers.errors import ServerError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status is 0, 1 for an error of the model, or 2 for a wrong call."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="model.py", description=f"{install.NAME} on this machine, with OpenAI's interface."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "install the model and its server into the cache; does nothing if they are there"
    commands.add_parser("install", help=text, description=text).set_defaults(run=_install)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument(
            "--state",
            type=Path,
            metavar="FOLDER",
            default=platformdirs.user_state_path("hlgraph") / "chat-model",
            help="folder of its log and process id (default: %(default)s)",
        )
        return made

    command("start", "start the model if it does not run, and wait until it answers").set_defaults(run=_start)
    command("status", "show whether the model runs").set_defaults(run=_status)
    stop = command("stop", "end the model that was started in this folder")
    stop.add_argument("--remove", action="store_true", help="remove the folder, too")
    stop.set_defaults(run=_stop)
    return parser


def _install(_: argparse.Namespace) -> None:
    done = "installed" if install.install() else "installed already"
    print(f"{install.NAME}: {done}, in {install.folder()}; start it: python docker/local/model.py start")


def _start(options: argparse.Namespace) -> None:
    _show(operate.start(options.state))


def _status(options: argparse.Namespace) -> None:
    found = operate.running(options.state)
    if found is None:
        print(f"{options.state}: no model runs here")
    else:
        _show(found)


def _stop(options: argparse.Namespace) -> None:
    print(f"stopped: {install.NAME if operate.stop(options.state, remove=options.remove) else 'nothing ran'}")


def _show(served: Served) -> None:
    """The lines that a shell reads to use the model; the server asks for no key, but its client does."""
    print(f"# {install.NAME}, pid {served.pid}")
    print(f"export HLGRAPH_CHAT=openai:{install.NAME} HLGRAPH_CHAT_URL={served.url} OPENAI_API_KEY=none")
