"""The commands ``hlgraph`` init, stats, health, doctor, migrate and config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.cli.output import pick, piece
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.records import Calibration, Kind, Relationship
    from hlgraph.settings import Settings
    from hlgraph.stores.migrate import Difference, MigrationTarget
    from hlgraph.stores.protocols import CorpusStats, Finding

PLACE = 70  # position in the list of commands

app = typer.Typer()


@command(app, "init")
def init(
    cli: Invocation,
    path: Annotated[Path, argument("FILE", "The settings file to write.")] = Path("hlgraph.yaml"),
    servers: Annotated[
        bool, option("--servers", "Write settings for Neo4j and OpenSearch; contacts no server.")
    ] = False,
) -> None:
    """Write the current settings to a file, and create the store.

    With --servers the file holds settings for both servers, with comments; passwords are read from the environment when
    the file is used.

    \b
    Examples:
      hlgraph --store hlgraph://./my-graph init
      hlgraph init --servers
    """
    settings = cli.settings()
    if path.exists():
        raise InputError(f"{path} already exists; edit it, or give another file name")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")
    if servers:
        settings, lines = _init_servers(path, settings)
        applied: list[str] = []
    else:
        from hlgraph.settings import as_text

        applied = _make_store(settings)
        path.write_text(as_text(settings), encoding="utf-8")
        lines = [f"wrote {path}; the store is {settings.store}", f"next: hlgraph --config {path} ingest PATH..."]
    cli.show({"settings": path, **pick(settings, "store vectors"), "migrations": applied}, lines)


def _make_store(settings: Settings) -> list[str]:
    """Create the store and return the labels of its migrations."""
    from hlgraph.stores import migrate as migration
    from hlgraph.stores.open import open_stores

    opened = open_stores(settings)
    with opened.closing:
        with opened.stores.graph.lock():  # creates the store
            pass
        return [step.label for target in opened.targets for step in migration.plan(target).applied]


def _init_servers(path: Path, settings: Settings) -> tuple[Settings, list[str]]:
    """Write settings for servers; return them, and what to do next."""
    from hlgraph.cli.server_settings import PASSWORDS, as_commented_text, on_servers
    from hlgraph.stores.open import open_stores

    chosen = on_servers(settings)
    open_stores(chosen).closing.close()  # contacts no server, but refuses invalid URLs
    path.write_text(as_commented_text(chosen), encoding="utf-8")
    wanted = PASSWORDS[:1] if chosen.opensearch.service else PASSWORDS
    return chosen, [
        f"wrote {path}; the graph is {chosen.store}, the vectors are {chosen.vectors}",
        f"next: review it, and export {' and '.join(wanted)}",
        f"then: hlgraph --config {path} migrate apply",
        f"      hlgraph --config {path} ingest PATH...",
    ]


def _stats_tree(stats: CorpusStats) -> dict[str, object]:
    tree = pick(stats, "version embedding dimensions records relationships", fields=list(stats.fields))
    more = pick(stats, "pending calibration", thresholds=_thresholds(stats.calibration), co_occurs=stats.co_occurs)
    return tree | more


def _fitted(calibration: Calibration | None) -> str:
    thresholds = ", ".join(f"{name} {value:.2f}" for name, value in _thresholds(calibration).items())
    return f"{thresholds} ({'the usual ones' if calibration is None else f'fitted to {calibration.names} names'})"


def _counts(counts: Mapping[Kind, int] | Mapping[Relationship, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _thresholds(calibration: Calibration | None) -> dict[str, float]:
    """The fitted thresholds of a corpus, by a short name."""
    from hlgraph.algorithms.query_walk import QueryWalk
    from hlgraph.index.hierarchy import HierarchyQuery
    from hlgraph.resolve.candidates import least_synonym

    tau, theta = QueryWalk().attraction(calibration)
    return {
        "tau": tau,
        "theta": theta,
        "synonym": least_synonym(calibration),
        "hierarchy": HierarchyQuery().fitted(calibration).least,
    }


@command(app, "stats", "corpus")
def stats(
    cli: Invocation,
    all_: Annotated[bool, option("--all", "Show every corpus of the store.")] = False,
) -> None:
    """Show what the corpus holds.

    \b
    Examples:
      hlgraph stats --json
      hlgraph stats --all
    """
    if cli.corpus is not None and all_:
        raise InputError("--corpus and --all contradict each other; leave one of them out")
    with cli.connect() as graph:
        corpora = graph.stats(everything=all_)
    store = graph.settings.store
    lines = [line for corpus in corpora for line in _stats_lines(corpus)]
    if not corpora:
        empty = f"{store} is empty" if all_ else f"there is no corpus {graph.corpus!r} in {store}"
        lines = [f"{empty}; next: hlgraph ingest PATH..."]
    cli.show({"store": store, "corpora": {corpus.corpus: _stats_tree(corpus) for corpus in corpora}}, lines)


def _stats_lines(stats: CorpusStats) -> Iterator[str]:
    yield f"corpus {stats.corpus} (version {stats.version}, {stats.embedding or 'no vectors'})"
    yield f"  records: {_counts(stats.records)}"
    yield f"  relationships: {_counts(stats.relationships)}"
    yield f"  fields: {', '.join(stats.fields)}"
    yield f"  thresholds: {_fitted(stats.calibration)}"
    if stats.co_occurs is not None:
        is_present = stats.co_occurs == stats.version
        stored = f"stored for version {stats.co_occurs}" if stats.co_occurs else "stored in part"
        yield f"  CO_OCCURS: {stored}{'' if is_present else '; outdated, next: hlgraph materialise co_occurs'}"
    if stats.pending:
        yield f"  unfinished: {len(stats.pending)} changes; run any ingest or delete to finish them"


@command(app, "health", "corpus")
def health(
    cli: Invocation,
    timeout: Annotated[float, option("--timeout SECONDS", "Seconds after which a store counts as down.")] = 5.0,
) -> None:
    """Check whether the stores respond and are usable, for service probes.

    Sends a few small requests to each store, concurrently: its version, its state, pending migrations, and the lag of this
    machine's graph image of the corpus. Changes nothing; the exit code is 1 if the stores are not ready.

    \b
    Examples:
      hlgraph health
      hlgraph health --timeout 2 --json
    """
    from hlgraph.sdk import health as probing

    report = probing.health(cli.settings(), timeout=timeout)
    image = None if report.image is None else {**report.image._asdict(), "behind": report.image.behind}
    tree = {**asdict(report), "checks": [check._asdict() for check in report.checks], "image": image}
    cli.show(tree, probing.lines(report))
    if not report.is_ready:
        raise typer.Exit(1)


@command(app, "doctor", "quiet")
def doctor(
    cli: Invocation,
) -> None:
    """Check that the stored data equals what was written.

    Checks links, counts, journal and files, the content of records against their ids, and vectors and full text against
    checksums and records (on servers: of 500 records of each kind). Prints each finding as it is made. Changes nothing;
    the exit code is 1 if a check fails.

    \b
    Example:
      hlgraph doctor
    """
    from hlgraph.sdk.opening import open_checked

    opened = open_checked(cli.settings())
    findings: list[Finding] = []
    with opened.closing, cli.progress("checking the store"):
        for finding in opened.check():
            findings.append(finding)
            if not cli.json:
                piece(f"{'ok ' if finding.is_fine else 'BAD'}  {finding.check}: {finding.seen}\n")
    is_fine = all(finding.is_fine for finding in findings)
    tree = {"is_fine": is_fine, "checks": [finding._asdict() for finding in findings]}
    cli.show(tree, ["the store is fine" if is_fine else "the store is not fine"])
    if not is_fine:
        raise typer.Exit(1)


@command(app, "migrate", "wait", "quiet")
def migrate(
    cli: Invocation,
    action: Annotated[
        Literal["plan", "apply", "verify", "repair"], argument("ACTION", "plan, apply, verify or repair.")
    ] = "plan",
) -> None:
    """Migrate the store to the schema of this version of hlgraph; verify and repair the schema.

    plan lists the pending migrations, and the parts of the schema that were altered since they ran: tables, indexes,
    constraints, fields and index settings. verify is plan with exit code 1 if it lists any. apply runs the pending
    migrations; repair restores what was altered, with exit code 1 if something is left.

    \b
    Examples:
      hlgraph migrate
      hlgraph migrate apply
      hlgraph migrate verify || hlgraph migrate repair
    """
    from hlgraph.persist.journal import resume
    from hlgraph.stores import migrate as migration
    from hlgraph.stores.open import open_stores

    settings = cli.settings()
    opened = open_stores(settings)
    stores: dict[str, dict[str, list[str]]] = {}
    with opened.closing, cli.progress("migrating"):
        before = {target.kind: len(migration.plan(target).applied) for target in opened.targets}
        if action == "apply" and not any(before.values()) and settings.store.startswith("hlgraph://"):
            with opened.stores.graph.lock():  # creates the store
                pass
        with opened.exclusive() if action in ("apply", "repair") and any(before.values()) else nullcontext():
            for target in opened.targets:
                if action == "apply":
                    migration.apply(target)
                mended = migration.repair(target) if action == "repair" else ()
                stores[target.kind] = _schema_of(target, before=before[target.kind], mended=mended)
        if action == "apply":
            with opened.stores.graph.lock() as pending:  # renews the topics of corpora of an older version
                resume(pending, opened.stores)
    is_pending, is_different = (any(schema[name] for schema in stores.values()) for name in ("pending", "differences"))
    lines = [*_schema_lines(stores)]
    if is_pending or is_different:
        lines.append(f"next: hlgraph migrate {'apply' if is_pending else 'repair'}")
    cli.show({"stores": stores, "is_pending": is_pending, "is_different": is_different}, lines)
    wrong = {"verify": ("pending", "differences"), "repair": ("differences",)}.get(action, ())
    if any(schema[name] for schema in stores.values() for name in wrong):
        raise typer.Exit(1)


def _schema_of(target: MigrationTarget, *, before: int, mended: Sequence[Difference]) -> dict[str, list[str]]:
    """What ran in a store, what is pending, and what of its schema differs or was mended."""
    from hlgraph.stores import migrate as migration

    plan = migration.plan(target)
    applied = [step.label for step in plan.applied]
    return {
        "applied": applied,
        "pending": [step.label for step in plan.pending],
        "now": applied[before:],
        "differences": [str(difference) for difference in migration.differences(target)],
        "mended": [str(difference) for difference in mended],
    }


def _schema_lines(stores: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    words = {"applied now": "now", "pending": "pending", "mended": "mended", "differs": "differences"}
    for kind, schema in stores.items():
        yield f"{kind}: {len(schema['applied'])} applied, {len(schema['pending'])} pending"
        yield from (f"  {word}: {label}" for word, name in words.items() for label in schema[name])


@command(app, "config")
def config(
    cli: Invocation,
) -> None:
    """Print the settings in effect, combined from file, environment and options.

    \b
    Example:
      hlgraph config > hlgraph.yaml
    """
    from hlgraph.settings import as_text, as_tree

    settings = cli.settings()
    cli.show(as_tree(settings), as_text(settings).splitlines())
