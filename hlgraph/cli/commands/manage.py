"""The commands ``hlgraph`` init, stats, health, doctor, migrate and config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import piece, print_json, say
from hlgraph.cli.state import Corpus, Json, Quiet, State, Wait
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.records import Calibration, Kind, Relationship
    from hlgraph.settings import Settings
    from hlgraph.stores.migrate import Difference, MigrationTarget
    from hlgraph.stores.open import Finding
    from hlgraph.stores.protocols import CorpusStats

PLACE = 70  # position in the list of commands


def init(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The settings file to write.")] = Path("hlgraph.yaml"),
    servers: Annotated[
        bool, typer.Option("--servers", help="Write settings for Neo4j and OpenSearch; contacts no server.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the current settings to a file, and create the store.

    With --servers the file holds settings for both servers, with comments; passwords are read from the environment when
    the file is used.

    \b
    Examples:
      hlgraph --store hlgraph://./my-graph init
      hlgraph init --servers
    """
    state: State = context.obj
    settings = state.settings()
    if path.exists():
        raise InputError(f"{path} already exists; edit it, or give another file name")
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")
    if servers:
        _init_servers(path, settings, is_json=json)
        return
    from hlgraph.settings import as_text

    applied = _make_store(settings)
    path.write_text(as_text(settings), encoding="utf-8")
    if json:
        print_json({"settings": str(path), "store": settings.store, "vectors": settings.vectors, "migrations": applied})
    else:
        say(f"wrote {path}; the store is {settings.store}", f"next: hlgraph --config {path} ingest PATH...")


def _make_store(settings: Settings) -> list[str]:
    """Create the store and return the labels of its migrations."""
    from hlgraph.stores import migrate as migration
    from hlgraph.stores.open import open_stores

    opened = open_stores(settings)
    with opened.closing:
        with opened.stores.graph.lock():  # creates the store
            pass
        return [item.label for target in opened.targets for item in migration.plan(target).applied]


def _init_servers(path: Path, settings: Settings, *, is_json: bool) -> None:
    from hlgraph.cli.server_settings import PASSWORDS, as_commented_text, on_servers
    from hlgraph.stores.open import open_stores

    chosen = on_servers(settings)
    open_stores(chosen).closing.close()  # contacts no server, but refuses invalid URLs
    path.write_text(as_commented_text(chosen), encoding="utf-8")
    if is_json:
        print_json({"settings": str(path), "store": chosen.store, "vectors": chosen.vectors, "migrations": []})
        return
    wanted = PASSWORDS[:1] if chosen.opensearch.service else PASSWORDS
    say(
        f"wrote {path}; the graph is {chosen.store}, the vectors are {chosen.vectors}",
        f"next: review it, and export {' and '.join(wanted)}",
        f"then: hlgraph --config {path} migrate apply",
        f"      hlgraph --config {path} ingest PATH...",
    )


def _stats_tree(item: CorpusStats) -> dict[str, object]:
    return {
        "version": item.version,
        "embedding": item.embedding,
        "dimensions": item.dimensions,
        "records": item.records,
        "relationships": item.relationships,
        "fields": list(item.fields),
        "pending": item.pending,
        "calibration": item.calibration,
        "thresholds": _thresholds(item.calibration),
        "co_occurs": item.co_occurs,
    }


def _fitted(calibration: Calibration | None) -> str:
    thresholds = ", ".join(f"{name} {value:.2f}" for name, value in _thresholds(calibration).items())
    return f"{thresholds} ({'the usual ones' if calibration is None else f'fitted to {calibration.names} names'})"


def _counts(counts: Mapping[Kind, int] | Mapping[Relationship, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _thresholds(calibration: Calibration | None) -> dict[str, float]:
    """The fitted thresholds of a corpus, by a short name."""
    from hlgraph.algorithms.query_walk import QueryWalk
    from hlgraph.index.hierarchy import HierarchyQuery
    from hlgraph.resolve.synonyms import least_synonym

    tau, theta = QueryWalk().attraction(calibration)
    return {
        "tau": tau,
        "theta": theta,
        "synonym": least_synonym(calibration),
        "hierarchy": HierarchyQuery().fitted(calibration).least,
    }


def stats(
    context: typer.Context,
    corpus: Corpus = None,
    all_: Annotated[bool, typer.Option("--all", help="Show every corpus of the store.")] = False,
    json: Json = False,
) -> None:
    """Show what the corpus holds.

    \b
    Examples:
      hlgraph stats --json
      hlgraph stats --all
    """
    if corpus is not None and all_:
        raise InputError("--corpus and --all contradict each other; leave one of them out")
    state: State = context.obj
    with state.open(corpus) as graph:
        corpora = graph.stats(everything=all_)
    store = graph.settings.store
    if json:
        print_json({"store": store, "corpora": {item.corpus: _stats_tree(item) for item in corpora}})
        return
    if not corpora:
        empty = f"{store} is empty" if all_ else f"there is no corpus {graph.corpus!r} in {store}"
        say(f"{empty}; next: hlgraph ingest PATH...")
    for item in corpora:
        say(
            f"corpus {item.corpus} (version {item.version}, {item.embedding or 'no vectors'})",
            f"  records: {_counts(item.records)}",
            f"  relationships: {_counts(item.relationships)}",
            f"  fields: {', '.join(item.fields)}",
            f"  thresholds: {_fitted(item.calibration)}",
        )
        if item.co_occurs is not None:
            is_present = item.co_occurs == item.version
            stored = f"stored for version {item.co_occurs}" if item.co_occurs else "stored in part"
            say(f"  CO_OCCURS: {stored}{'' if is_present else '; outdated, next: hlgraph materialise co_occurs'}")
        if item.pending:
            say(f"  unfinished: {len(item.pending)} changes; run any ingest or delete to finish them")


def doctor(context: typer.Context, quiet: Quiet = False, json: Json = False) -> None:
    """Check that the stored data equals what was written.

    Checks links, counts, journal and files, the content of records against their ids, and vectors and full text against
    checksums and records (on servers: of 500 records of each kind). Prints each finding as it is made. Changes nothing;
    the exit code is 1 if a check fails.

    \b
    Example:
      hlgraph doctor
    """
    from hlgraph.sdk.health import open_checked

    state: State = context.obj
    opened = open_checked(state.settings())
    findings: list[Finding] = []
    with opened.closing, progress("checking the store", quiet=quiet, is_json=json):
        for item in opened.check():
            findings.append(item)
            if not json:
                piece(f"{'ok ' if item.is_fine else 'BAD'}  {item.check}: {item.seen}\n")
    is_fine = all(item.is_fine for item in findings)
    if json:
        print_json({"is_fine": is_fine, "checks": [item._asdict() for item in findings]})
    else:
        say("the store is fine" if is_fine else "the store is not fine")
    if not is_fine:
        raise typer.Exit(1)


def health(
    context: typer.Context,
    corpus: Corpus = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Seconds after which a store counts as down.")
    ] = 5.0,
    json: Json = False,
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

    state: State = context.obj
    report = probing.health(state.settings(corpus), timeout=timeout)
    if json:
        image = None if report.image is None else {**report.image._asdict(), "behind": report.image.behind}
        print_json({**asdict(report), "checks": [item._asdict() for item in report.checks], "image": image})
    else:
        say(*probing.lines(report))
    if not report.is_ready:
        raise typer.Exit(1)


def migrate(
    context: typer.Context,
    action: Annotated[
        Literal["plan", "apply", "verify", "repair"],
        typer.Argument(metavar="ACTION", help="plan, apply, verify or repair."),
    ] = "plan",
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
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
    from hlgraph.persist import resume
    from hlgraph.stores import migrate as migration
    from hlgraph.stores.open import open_stores

    state: State = context.obj
    settings = state.settings(wait=wait)
    opened = open_stores(settings)
    stores: dict[str, dict[str, list[str]]] = {}
    with opened.closing, progress("migrating", quiet=quiet, is_json=json):
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
    _say_schemas(stores, is_json=json)
    wrong = {"verify": ("pending", "differences"), "repair": ("differences",)}.get(action, ())
    if any(item[name] for item in stores.values() for name in wrong):
        raise typer.Exit(1)


def _schema_of(target: MigrationTarget, *, before: int, mended: Sequence[Difference]) -> dict[str, list[str]]:
    """What ran in a store, what is pending, and what of its schema differs or was mended."""
    from hlgraph.stores import migrate as migration

    plan = migration.plan(target)
    applied = [item.label for item in plan.applied]
    return {
        "applied": applied,
        "pending": [item.label for item in plan.pending],
        "now": applied[before:],
        "differences": [str(item) for item in migration.differences(target)],
        "mended": [str(item) for item in mended],
    }


def _say_schemas(stores: dict[str, dict[str, list[str]]], *, is_json: bool) -> None:
    is_pending, is_different = (any(item[name] for item in stores.values()) for name in ("pending", "differences"))
    if is_json:
        print_json({"stores": stores, "is_pending": is_pending, "is_different": is_different})
        return
    words = {"applied now": "now", "pending": "pending", "mended": "mended", "differs": "differences"}
    for kind, item in stores.items():
        counts = ", ".join(f"{len(item[name])} {name}" for name in ("applied", "pending"))
        say(f"{kind}: {counts}", *(f"  {word}: {said}" for word, name in words.items() for said in item[name]))
    if is_pending:
        say("next: hlgraph migrate apply")
    elif is_different:
        say("next: hlgraph migrate repair")


def config(context: typer.Context, json: Json = False) -> None:
    """Print the settings in effect, combined from file, environment and options.

    \b
    Example:
      hlgraph config > hlgraph.yaml
    """
    from hlgraph.settings import as_text, as_tree

    state: State = context.obj
    settings = state.settings()
    if json:
        print_json(as_tree(settings))
    else:
        say(*as_text(settings).splitlines())


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (
        ("init", init),
        ("stats", stats),
        ("health", health),
        ("doctor", doctor),
        ("migrate", migrate),
        ("config", config),
    ):
        app.command(name)(command)
