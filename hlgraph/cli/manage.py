"""hlgraph init, stats, doctor, migrate, config."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hlgraph.cli.output import print_json
from hlgraph.cli.state import Json, State
from hlgraph.errors import InputError


def init(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="Where to write the settings file.")] = Path("hlgraph.yaml"),
    json: Json = False,
) -> None:
    """Write a settings file with the present settings, and make the store.

    Example:

      hlgraph --store hlgraph://./my-graph init
    """
    from hlgraph import migrate as migration
    from hlgraph.settings import as_text
    from hlgraph.stores.open import open_stores

    state: State = context.obj
    settings = state.settings()
    if path.exists():
        raise InputError(f"{path} exists already; edit it, or name another file")
    opened = open_stores(settings.store)
    with opened.closing:
        with opened.stores.graph.lock():
            applied = [item.version for target in opened.targets for item in migration.plan(target).applied]
        path.write_text(as_text(settings), encoding="utf-8")
    if json:
        print_json({"settings": str(path), "store": settings.store, "migrations": applied})
    else:
        print(f"wrote {path}; the store is {settings.store}\nnext: hlgraph --config {path} ingest PATH...")


def stats(context: typer.Context, json: Json = False) -> None:
    """Say what every corpus of the store holds.

    Example:

      hlgraph stats --json
    """
    state: State = context.obj
    with state.open() as graph:
        found = graph.stats()
    if json:
        print_json(
            {
                "store": graph.settings.store,
                "corpora": {
                    item.corpus: {
                        "version": item.version,
                        "embedding": item.embedding,
                        "dimensions": item.dimensions,
                        "records": {kind.value: count for kind, count in item.records.items()},
                        "relationships": {kind.value: count for kind, count in item.relationships.items()},
                        "fields": list(item.fields),
                        "pending": list(item.pending),
                    }
                    for item in found
                },
            }
        )
        return
    if not found:
        print(f"{graph.settings.store} is empty; next: hlgraph ingest PATH...")
    for item in found:
        print(f"corpus {item.corpus} (version {item.version}, {item.embedding or 'no vectors'})")
        print("  records: " + ", ".join(f"{count} {kind}" for kind, count in item.records.items()))
        print("  relationships: " + ", ".join(f"{count} {kind}" for kind, count in item.relationships.items()))
        print("  fields: " + ", ".join(item.fields))


def doctor(context: typer.Context, json: Json = False) -> None:
    """Check that what is stored agrees with itself: links, counts, vectors, journal, files.

    Example:

      hlgraph doctor
    """
    state: State = context.obj
    with state.open() as graph:
        findings = graph.check()
    is_fine = all(item.is_fine for item in findings)
    if json:
        print_json({"is_fine": is_fine, "checks": [item._asdict() for item in findings]})
    else:
        for item in findings:
            print(f"{'ok  ' if item.is_fine else 'BAD '} {item.check}: {item.seen}")
        print("the store is fine" if is_fine else "the store is not fine")
    if not is_fine:
        raise typer.Exit(1)


def migrate(
    context: typer.Context,
    action: Annotated[str, typer.Argument(help="plan, apply or verify.")] = "plan",
    json: Json = False,
) -> None:
    """Bring the store to the schema of this hlgraph: plan says what is pending, apply does it, verify fails if any is.

    Example:

      hlgraph migrate apply
    """
    from hlgraph import migrate as migration
    from hlgraph.stores.open import open_stores

    if action not in ("plan", "apply", "verify"):
        raise InputError(f"{action!r} is no action of migrate; choose plan, apply or verify")
    state: State = context.obj
    opened = open_stores(state.settings().store)
    with opened.closing:
        stores: dict[str, dict[str, list[str]]] = {}
        for target in opened.targets:
            done = migration.apply(target).applied if action == "apply" else ()
            plan = migration.plan(target)
            stores[target.kind] = {
                "applied": [f"V{item.version:03d} {item.name}" for item in plan.applied],
                "pending": [f"V{item.version:03d} {item.name}" for item in plan.pending],
                "now": [f"V{item.version:03d} {item.name}" for item in done],
            }
    is_pending = any(item["pending"] for item in stores.values())
    if json:
        print_json({"stores": stores, "is_pending": is_pending})
    else:
        for kind, item in stores.items():
            print(
                f"{kind}: {len(item['applied'])} applied, {len(item['pending'])} pending, {len(item['now'])} applied now"
            )
            for name in item["pending"]:
                print(f"  pending: {name}")
    if action == "verify" and is_pending:
        raise typer.Exit(1)


def config(context: typer.Context, json: Json = False) -> None:
    """Print the settings in force, from file, environment and options.

    Example:

      hlgraph config > hlgraph.yaml
    """
    import msgspec

    from hlgraph.settings import as_text

    state: State = context.obj
    settings = state.settings()
    if json:
        print_json(msgspec.to_builtins(settings))
    else:
        print(as_text(settings), end="")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (
        ("init", init),
        ("stats", stats),
        ("doctor", doctor),
        ("migrate", migrate),
        ("config", config),
    ):
        app.command(name)(command)
