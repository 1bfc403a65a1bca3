"""The command line of the launcher."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from local_servers import neo4j_server, operate, pins, process, state
from local_servers.errors import ServerError
from local_servers.lock import write_lock

PATIENCE = 30.0  # seconds in which a command that was interrupted ends


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status is 0, 1 for an error of a server, 2 for a wrong call, or that of ``run COMMAND``."""
    options = _parser().parse_args(arguments)
    try:
        status: int | None = options.run(options)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="servers.py", description="Neo4j and OpenSearch on this machine, without Docker."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument(
            "--state",
            type=Path,
            metavar="FOLDER",
            default=platformdirs.user_state_path("hlgraph") / "servers",
            help="folder of the servers' data and servers.json (default: %(default)s)",
        )
        return made

    def starting(name: str, text: str) -> argparse.ArgumentParser:
        made = command(name, text)
        made.add_argument("--only", choices=operate.NAMES, help="start only this one")
        made.add_argument("--neo4j", metavar="VERSION", default="", help="version of Neo4j, such as 5.26")
        made.add_argument("--opensearch", metavar="VERSION", default="", help="2.19: with its security plugin")
        made.add_argument(
            "--neo4j-port", type=int, default=0, metavar="PORT", help="port of Bolt (default: a free one)"
        )
        made.add_argument("--opensearch-port", type=int, default=0, metavar="PORT", help="port (default: a free one)")
        made.add_argument(
            "--by",
            choices=operate.WAYS,
            default=operate.JARS,
            help="containers, jars, or what is available (default: jars)",
        )
        return made

    start = starting("start", "start the servers that do not run, and wait until they answer")
    start.set_defaults(run=_start)
    run = starting("run", "start the servers, run a command, and remove them with all their data, however this ends")
    run.add_argument("command", nargs="+", metavar="COMMAND", help="after --; its exit status is that of this command")
    run.set_defaults(run=_run)
    stop = command("stop", "end the servers that were started in this folder")
    stop.add_argument("--remove", action="store_true", help="kill them, and remove the folder with all their data")
    stop.set_defaults(run=_stop)
    status = command("status", "show which servers run")
    status.set_defaults(run=_status)
    kill = command("kill", "end one server by SIGKILL, as a power cut would")
    kill.add_argument("name", choices=operate.NAMES)
    kill.set_defaults(run=_kill)
    restart = command("restart", "start one server again on the same ports and data")
    restart.add_argument("name", choices=operate.NAMES)
    restart.set_defaults(run=_restart)
    load = command(
        "import", "replace the database of Neo4j by import files of hlgraph ingest --bulk, and start it again"
    )
    load.add_argument("files", type=Path, metavar="FOLDER", help="the folder of the import files")
    load.add_argument("--database", default=neo4j_server.DATABASE, help="name of the database (default: %(default)s)")
    load.set_defaults(run=_load)
    lock = commands.add_parser("lock", help="create lock.json again from versions.toml; needs Maven")
    lock.set_defaults(run=_lock)
    return parser


def _start(options: argparse.Namespace) -> None:
    names = [options.only] if options.only else operate.NAMES
    ports = {"neo4j": options.neo4j_port, "opensearch": options.opensearch_port}
    versions = {"neo4j": options.neo4j, "opensearch": options.opensearch}
    operate.start(options.state, names, versions=versions, ports=ports, by=options.by)
    _show(options.state)


def _run(options: argparse.Namespace) -> int:
    with process.afterwards(
        [sys.executable, pins.HERE / "servers.py", "stop", "--remove", "--state", options.state.absolute()]
    ):
        _start(options)
        made = subprocess.Popen(options.command)
        try:
            return made.wait()
        except KeyboardInterrupt:  # Ctrl-C reaches the command, too
            with contextlib.suppress(subprocess.TimeoutExpired):
                return made.wait(PATIENCE)
            raise
        finally:
            made.kill()


def _stop(options: argparse.Namespace) -> None:
    ended = operate.remove(options.state) if options.remove else operate.stop(options.state)
    print(f"stopped: {', '.join(ended) or 'nothing ran'}")


def _status(options: argparse.Namespace) -> None:
    _show(options.state)


def _kill(options: argparse.Namespace) -> None:
    if not operate.stop(options.state, [options.name], force=True):
        raise ServerError(f"{options.state}: {options.name} does not run")
    print(f"killed: {options.name}")


def _restart(options: argparse.Namespace) -> None:
    operate.restart(options.state, options.name)
    _show(options.state)


def _load(options: argparse.Namespace) -> None:
    operate.load(options.state, options.files, database=options.database)
    _show(options.state)


def _lock(_: argparse.Namespace) -> None:
    print(f"lock.json: {write_lock()} jars")


def _show(folder: Path) -> None:
    folder = folder.absolute()
    servers = state.read(folder)
    is_up = operate.running(folder)
    for name, endpoint in ((pins.NEO4J, servers.neo4j), (pins.OPENSEARCH, servers.opensearch)):
        if endpoint:
            how = "not running" if not is_up[name] else f"pid {endpoint.pid}" if endpoint.pid else "container"
            print(f"{name:<11} {endpoint.version:<10} {endpoint.url}  user {endpoint.user}  ({how})")
    if not is_up:
        print(f"{folder}: no server was started here")
        return
    print(f"passwords   {folder / state.FILE}")
    if (folder / state.SETTINGS).exists():
        print(f"use them    export HLGRAPH_CONFIG={shlex.quote(str(folder / state.SETTINGS))}")
