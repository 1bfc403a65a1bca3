"""The commands ``hlgraph hold``, which keep sources from being deleted, ``hlgraph receipts``, which verify what was deleted, and
``hlgraph history``, which lists what was in a corpus before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.command import Invocation, Where, argument, command, group, option
from hlgraph.cli.output import pick

if TYPE_CHECKING:
    from hlgraph.sdk.history import ChangeSet, SourceVersion
    from hlgraph.sdk.retention import VerifiedReceipts
    from hlgraph.stores.derived import Hold

PLACE = 15  # position in the list of commands

holds = group("hold", "Keep sources from being deleted or replaced.")
receipts = group("receipts", "Verify receipts of deletions.")
history = group("history", "Show the versions of sources that a corpus keeps (ingest --keep-history), and its changes.")
app = typer.Typer()
app.add_typer(holds)
app.add_typer(receipts)
app.add_typer(history)

Name = Annotated[str, argument("NAME", "The name of the hold.")]


@command(holds, "add", "corpus", "wait")
def add(
    cli: Invocation,
    name: Name,
    uri: Annotated[
        list[str] | None, option("--uri URI", "URI of a source, or path of a file or folder (may be repeated).")
    ] = None,
    where: Where = None,
) -> None:
    """Put a hold on sources. Until it is released, no command deletes them, and no edit removes their text.

    Sources that come later under the same URIs, or that match the filter, are under the hold as well.

    \b
    Examples:
      hlgraph hold add case-12 --uri docs/contract.md --uri docs/mails/
      hlgraph hold add audit --where 'year >= 2020' --corpus news
    """
    with cli.connect() as graph:
        hold = graph.holds.add(name, uri or (), where=where)
    cli.show(_tree(hold), [f"{_line(hold)}; to remove the hold: hlgraph hold release {name}"])


@command(holds, "list", "corpus")
def list_holds(cli: Invocation) -> None:
    """List the holds of the corpus.

    \b
    Example:
      hlgraph hold list
    """
    with cli.connect() as graph:
        listed = graph.holds.list()
    cli.show({"holds": [_tree(hold) for hold in listed]}, [_line(hold) for hold in listed] or ["no holds"])


@command(holds, "release", "corpus", "wait")
def release(cli: Invocation, name: Name) -> None:
    """Remove a hold. Its sources can be deleted again, unless another hold is on them.

    \b
    Example:
      hlgraph hold release case-12
    """
    with cli.connect() as graph:
        hold = graph.holds.release(name)
    cli.show({"released": _tree(hold)}, [f"released: {_line(hold)}"])


@command(receipts, "verify", "corpus")
def verify(
    cli: Invocation,
    path: Annotated[Path, argument("FILE", "The file that delete --receipt wrote.")],
    with_store: Annotated[
        bool,
        option(
            "--with-store",
            "Also compare with the store: is the last receipt in the file, and is a deleted source there again (exit code 1)?",
        ),
    ] = False,
) -> None:
    """Verify a file of receipts: the content and hash of each, and that each follows the one before it.

    Opens no store, unless --with-store is given. A file that was altered is refused, with the first wrong receipt (exit code 2).

    \b
    Examples:
      hlgraph receipts verify receipts.jsonl
      hlgraph receipts verify receipts.jsonl --with-store
    """
    from hlgraph.errors import InputError
    from hlgraph.sdk.retention import verify_receipts

    chain = verify_receipts(path)
    corpus = chain.receipts[0].corpus
    if cli.corpus not in (None, corpus):
        raise InputError(f"{path}: the receipts are of corpus {corpus!r}, not of {cli.corpus!r}; give another file")
    if with_store:
        with cli.connect(corpus=corpus) as graph:
            chain = graph.receipts.verify(path)
    first, last = chain.receipts[0], chain.receipts[-1]
    tree = {
        "corpus": corpus,
        "receipts": [pick(receipt, "number at hash", sources=len(receipt.ids)) for receipt in chain.receipts],
        "is_compared": with_store,
        "returned": list(chain.returned),
        "missing": chain.missing,
    }
    sources = sum(len(receipt.ids) for receipt in chain.receipts)
    lines = [
        f"corpus {corpus}: receipts {first.number} to {last.number} are as they were written, {sources} sources deleted"
    ]
    cli.show(tree, [*lines, *(_compared_lines(chain) if with_store else ())], fails=chain.returned or chain.missing)


def _compared_lines(chain: VerifiedReceipts) -> list[str]:
    lines = [f"in the store again: {name}" for name in chain.returned] or ["no deleted source is in the store"]
    if chain.missing:
        lines.append(f"the store knows {chain.missing} later receipts, which are in another file or were cut off")
    return lines


def _tree(hold: Hold) -> dict[str, object]:
    return pick(hold, "name uris where at", sources=len(hold.ids))


def _line(hold: Hold) -> str:
    return f"{hold.name}: {', '.join(hold.uris) or hold.where}  ({len(hold.ids)} sources on {hold.at})"


@command(history, "list", "corpus")
def versions(cli: Invocation, uri: Annotated[str, argument("URI", "URI of the source, or path of its file.")]) -> None:
    """List the versions of a source and when each was valid, oldest first.

    \b
    Example:
      hlgraph history list docs/staff.md
    """
    with cli.connect() as graph:
        listed = graph.history.versions(uri)
    cli.show({"versions": [version._asdict() for version in listed]}, map(_version_line, listed))


@command(history, "changes", "corpus")
def changes(
    cli: Invocation,
    last: Annotated[int, option("--last N", "Maximum number of change sets, the latest ones; each is compared.")] = 10,
) -> None:
    """List the change sets: what each ingest, edit or deletion added, changed and removed, oldest first.

    The number of a change set is the version of the corpus after it.

    \b
    Examples:
      hlgraph history changes
      hlgraph history changes --last 100 --json
      hlgraph diff --change 12
    """
    with cli.connect() as graph:
        listed = graph.history.changes(last)
    cli.show({"changes": [_change_tree(change) for change in listed]}, map(_change_line, listed))


_COUNTED = ("added", "removed", "changed")


def _change_tree(change: ChangeSet) -> dict[str, object]:
    sources = {word: getattr(change, f"sources_{word}") for word in _COUNTED}
    counts = {
        name: {word: getattr(change, f"{name}_{word}") for word in _COUNTED[:2]} for name in ("statements", "facts")
    }
    return pick(change, "id at version_before", sources=sources, **counts)


def _change_line(change: ChangeSet) -> str:
    sources = ", ".join(f"{len(getattr(change, f'sources_{word}'))} {word}" for word in _COUNTED)
    statements = f"+{change.statements_added} -{change.statements_removed} statements"
    return f"{change.id}: {change.at}  sources: {sources}; {statements}, +{change.facts_added} -{change.facts_removed} facts"


def _version_line(version: SourceVersion) -> str:
    until = "now" if version.valid_to is None else f"{version.valid_to} (version {version.version_to})"
    return f"{version.number}: from {version.valid_from} (version {version.version_from}) to {until}  {version.title}"
