"""The command ``hlgraph reconcile``: compare the graph with the vectors, and repair differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.command import Invocation, command, option
from hlgraph.cli.output import pick
from hlgraph.errors import ModelMismatchError, StoreConflictError

if TYPE_CHECKING:
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
    cli.show({"corpora": corpora, "is_repaired": repair, "is_fine": not is_left}, lines)
    if is_left:
        raise typer.Exit(1)


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
