"""Starts a server in its own session, recognises it later by its process id, and ends it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from local_servers.errors import PortTakenError, ServerError

TAIL = 1500
# Outside the ephemeral range (Linux from 32768, macOS from 49152), from which systems give ports to connections and to servers
# that ask for any port: a server takes seconds until it listens, and another process may get the port in the meantime.
PORTS = range(20_000, 32_000)
# What the servers log when they cannot listen.
TAKEN = ("PortBindException", "BindHttpException", "BindTransportException", "Address already in use")


def free_port() -> int:
    """A port of the loopback interface that is free at this moment."""
    for port in random.sample(PORTS, 100):
        if _is_free(port):
            return port
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        given: int = one.getsockname()[1]
        return given


def port_of(url: str) -> int:
    """The port of a URL that has one."""
    return int(url.rpartition(":")[2])


def check_free(port: int, owner: str) -> None:
    """Checks that a port is free.

    Raises
    ------
    PortTakenError : another process listens on it
    """
    if not _is_free(port):
        raise PortTakenError(
            f"{owner}: port {port} of 127.0.0.1 is taken by another process; end that one, or choose another port"
        )


def spawn(command: Sequence[str | Path], *, log: Path, cwd: Path, env: Mapping[str, str] | None = None) -> int:
    """Starts a command that outlives this process and appends its output to a file; returns its process id.

    Waits until the system shows its command line, by which the process is recognised: a little after it began to run.
    """
    with log.open("ab") as out:
        made = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd, env=env, start_new_session=True
        )
    made.returncode = 0  # it keeps running on purpose, so suppress the warning
    while _is_nameless(made.pid):
        time.sleep(0.001)
    return made.pid


@contextlib.contextmanager
def afterwards(command: Sequence[str | Path]) -> Iterator[None]:
    """Runs a command when the block ends or this process does, however it ends: a shell waits for the end of its input.

    The shell has a session of its own, so that Ctrl-C does not reach it.
    """
    waiting = subprocess.Popen(
        ["/bin/sh", "-c", 'read -r _; exec "$@"', "sh", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        waiting.communicate(b"now\n")  # a line: a forked child may still hold the other end open


def command_line(pid: int) -> str:
    """The command line of a process; empty if it does not exist or is a zombie."""
    path = Path("/proc") / str(pid) / "cmdline"
    if Path("/proc/self").exists():
        try:
            return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    done = subprocess.run(
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return "" if "<defunct>" in done.stdout else done.stdout


def is_running(pid: int, mark: str) -> bool:
    """Whether the process exists and has the mark in its command line, which a later process with this id lacks."""
    return pid > 0 and mark in command_line(pid)


def end(pid: int, mark: str, *, force: bool = False, patience: float = 60.0) -> bool:
    """Ends a process that has the mark, by SIGTERM or (``force``) by SIGKILL; returns False if there is none.

    A process that does not end within ``patience`` seconds is killed.
    """
    if not kill(pid, mark, by=signal.SIGKILL if force else signal.SIGTERM):
        return False
    if not _is_gone(pid, mark, patience):
        os.kill(pid, signal.SIGKILL)
        if not _is_gone(pid, mark, patience):
            raise ServerError(f"process {pid} does not end, not even by SIGKILL; look at it with: ps -p {pid}")
    return True


def kill(pid: int, mark: str, *, by: signal.Signals = signal.SIGKILL) -> bool:
    """Sends a signal to a process that has the mark, and does not wait; returns False if there is none."""
    if not is_running(pid, mark):
        return False
    os.kill(pid, by)
    return True


def wait_until(is_ready: Callable[[], bool], pid: int, *, name: str, log: Path, patience: float) -> None:
    """Waits until a server that this process spawned answers.

    Raises
    ------
    PortTakenError : it ended because another process listens on its port; the message has the end of its log
    ServerError : it ended for another reason, or did not answer within ``patience`` seconds; with the end of its log
    """
    until = time.monotonic() + patience
    while not is_ready():
        if _has_ended(pid):
            kind = PortTakenError if any(word in tail(log, 20 * TAIL) for word in TAKEN) else ServerError
            raise kind(f"{name}: it ended while it was starting; its log {log} ends:\n{tail(log)}")
        if time.monotonic() > until:
            raise ServerError(f"{name}: no answer within {patience:.0f} seconds; its log {log} ends:\n{tail(log)}")
        time.sleep(0.1)


def tail(log: Path, characters: int = TAIL) -> str:
    """The end of a log."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")[-characters:]
    except OSError:
        return "(no log)"


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _is_gone(pid: int, mark: str, patience: float) -> bool:
    until = time.monotonic() + patience
    while not _has_ended(pid) and (is_running(pid, mark) or _is_nameless(pid)):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _is_nameless(pid: int) -> bool:
    """Whether a process without a command line still holds its ports, which its last thread closes, or only begins."""
    home = Path("/proc", str(pid))
    try:
        state = (home / "stat").read_text().rpartition(")")[2].split()[0]
        threads = len(list((home / "task").iterdir()))
    except (OSError, IndexError):
        return False
    return not command_line(pid) and (state not in "ZX" or threads > 1)


def _has_ended(pid: int) -> bool:
    """Whether a child of this process has ended; reaps it. False for a process that is not a child."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False
