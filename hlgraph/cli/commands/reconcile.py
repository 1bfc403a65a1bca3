"""The commands ``hlgraph reconcile`` and ``hlgraph journal``: repair differences of the stores, and what interrupted runs left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.cli.output import pick
from hlgraph.errors import ModelMismatchError, StoreConflictError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.change import Pending
    from hlgraph.sdk.reconcile import Drift

PLACE = 80  # position in the list of commands

app = typer.Typer()


@command(app, "reconcile", "corpus", "wait", "quiet")
def reconcile(
    cli: Invocation,
    repair: Annotated[bool, option("--repair", "Repair the differences.")] = False,
) -> None:
    """Check that graph and vectors of every corpus hold the same data, as it was written; with --repair fix the differences.

    Lost or altered vectors and full text are restored from the records; lost statements, topics and entities, and altered
    links, by extracting the stored chunks again (local extraction). A lost or altered chunk needs its document: ingest it
    again. A corpus embedded with another model is reported and left unchanged: repair it with the settings that it was
    built with. The exit code is 1 if a difference remains.

    \b
    Examples:
      hlgraph reconcile
      hlgraph reconcile --repair --corpus reports
    """
    drifts: list[tuple[Drift, Drift]] = []
    wrong: dict[str, str] = {}
    with cli.connect("reconciling") as graph:
        names = [graph.corpus] if cli.corpus else [stats.corpus for stats in graph.stats(everything=True)]
        for name in names:
            try:
                drifts.append(graph.in_corpus(name).reconcile(repair=repair))
            except (ModelMismatchError, StoreConflictError) as error:
                if cli.corpus:
                    raise
                wrong[name] = str(error)
    is_left = bool(wrong) or not all(after.is_none for _, after in drifts)
    lines: list[str] = []
    for before, after in drifts:
        lines += _lines(before)
        if repair and not before.is_none:
            lines += ["  repaired"] if after.is_none else ["  remaining:", *_lines(after)[1:]]
    for name, message in wrong.items():
        lines.append(f"corpus {name}: not {'repaired' if repair else 'compared'}: {message}")
    if is_left and not repair:
        lines.append("next: hlgraph reconcile --repair")
    corpora: dict[str, object] = {
        before.corpus: {"found": pick(before, _FIELDS), "left": pick(after, _FIELDS)} for before, after in drifts
    }
    corpora |= {name: {"error": message} for name, message in wrong.items()}
    cli.show({"corpora": corpora, "is_repaired": repair, "is_fine": not is_left}, lines, fails=is_left)


_BY_KIND = {
    "without_vector": "without a vector",
    "without_record": "without a record",
    "altered_vectors": "with an altered vector",
    "altered_texts": "with an altered full text",
    "altered_records": "altered",
}
_FIELDS = " ".join((*_BY_KIND, "stray_texts", "sources_to_ingest", "is_restored"))


def _lines(drift: Drift) -> list[str]:
    if drift.is_none:
        return [f"corpus {drift.corpus}: graph and vectors hold the same"]
    differ = "differ" if not drift.is_same else "are not what was written"
    lines = [f"corpus {drift.corpus}: graph and vectors {differ}"]
    if drift.is_restored:
        lines.append("  the database file was damaged; its indexes were made again")
    for name, words in _BY_KIND.items():
        for kind, ids in getattr(drift, name).items():
            lines.append(f"  {kind.value} {words}: {len(ids)}, such as {ids[0]}")
    lines.extend(f"  full text of no {kind.value}: {count}" for kind, count in drift.stray_texts.items())
    lines.extend(f"  lost or altered; ingest this source again: {uri}" for uri in drift.sources_to_ingest)
    return lines


@command(app, "journal", "wait")
def journal(
    cli: Invocation,
    action: Annotated[Literal["list", "drop"], argument("ACTION", "list or drop.")] = "list",
    change: Annotated[str | None, option("--change ID", "Only this change.")] = None,
) -> None:
    """List the unfinished changes of interrupted runs and active writers, or drop those of interrupted runs.

    Every ingest and delete finishes the changes of its corpus first. Drop a change that the store cannot apply, for example one too
    large for the memory of a server: the records that it wrote, which were never visible, are removed. A change that is
    already visible is kept, to be finished.

    \b
    Examples:
      hlgraph journal
      hlgraph journal drop
    """
    from hlgraph.change import ChangeState
    from hlgraph.persist.journal import abandon
    from hlgraph.stores.open import open_stores

    opened = open_stores(cli.settings())
    dropped: list[str] = []
    with opened.closing:
        graph = opened.stores.graph
        unfinished = [entry for entry in graph.unfinished() if change in {None, entry.change.id}]
        if change is not None and not unfinished:
            raise UnknownNameError(f"there is no unfinished change {change}; to list them: hlgraph journal")
        corpora = sorted({entry.change.corpus for entry in unfinished}) if action == "drop" else []
        for corpus in corpora:
            with graph.lock(corpus) as pending:  # what a writer at work had begun is finished by now
                for entry in pending:
                    if entry.change.id == change or (change is None and entry.state is ChangeState.STAGED):
                        abandon(entry, opened.stores)
                        dropped.append(entry.change.id)
    lines = [_change_line(entry, is_dropped=entry.change.id in dropped) for entry in unfinished]
    if action == "list":
        lines.append("next: run any ingest or delete to finish them, or: hlgraph journal drop")
    changes = [_change_tree(entry) for entry in unfinished]
    cli.show({"changes": changes, "dropped": dropped}, lines if unfinished else ["no change is unfinished"])


def _change_line(pending: Pending, *, is_dropped: bool) -> str:
    change, state = pending.change, "dropped" if is_dropped else pending.state.value
    return (
        f"{change.id}  {state}: corpus {change.corpus}, {len(change.sources)} sources, "
        f"{len(change.removed_sources)} to remove, {len(change.statements)} statements"
    )


def _change_tree(pending: Pending) -> dict[str, object]:
    change = pending.change
    counts = {name: len(getattr(change, name)) for name in ("sources", "removed_sources", "statements")}
    return {"id": change.id, "corpus": change.corpus, "state": pending.state.value, **counts}
