"""The commands ``hlgraph backup`` and ``hlgraph restore``: a checked copy of an embedded store, and the store made from it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Json, Quiet, State, Wait

if TYPE_CHECKING:
    from hlgraph.stores.protocols import Backup

PLACE = 85  # position in the list of commands


def backup(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="The folder of the backup.")],
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Back up an embedded store, with all its corpora, to a folder; others may read and write meanwhile.

    The backup is one state of the store. Blocks that did not change since the last backup in TARGET are not written again.
    The copy is checked as doctor does before it replaces the last backup. After a kill the last backup stays, and the same
    command goes on. Servers have backups of their own: see docs/how-to/backup.md.

    \b
    Example:
      hlgraph --store hlgraph://./my-graph backup /backups/my-graph
    """
    from hlgraph.sdk.backup import back_up

    state: State = context.obj
    with progress("backing up", quiet=quiet, is_json=json):
        done = back_up(state.settings(), target)
    if json:
        print_json(done)
        return
    say(
        f"{done.target} holds the state of {done.at}: {done.files} files, {done.bytes:,} bytes, {done.written:,} written"
    )
    say("the copy is fine", *_unfinished(done))


def restore(
    context: typer.Context,
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="The folder that hlgraph backup wrote to.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the store that is there.")] = False,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make the store of --store from a backup.

    Every block is compared with its checksum before the store appears. If it is killed, the store is the old one or the new
    one, each as a whole. Programs that have the old store open must open it again.

    \b
    Examples:
      hlgraph --store hlgraph://./my-graph restore /backups/my-graph
      hlgraph --store hlgraph://./my-graph restore /backups/my-graph --replace
    """
    from hlgraph.sdk.backup import restore as restored

    state: State = context.obj
    settings = state.settings(wait=wait)
    with progress("restoring", quiet=quiet, is_json=json):
        done = restored(backup, settings, replace=replace)
    if json:
        print_json({**asdict(done), "restored_to": settings.store})
        return
    say(f"{settings.store} is the state of {done.at}: {done.files} files, {done.bytes:,} bytes", *_unfinished(done))


def _unfinished(done: Backup) -> list[str]:
    return ["it has unfinished changes; the next ingest or delete finishes them"] if done.is_unfinished else []


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup")(backup)
    app.command("restore")(restore)
