"""Checks of the schema of a store, for tests of migrations."""

from __future__ import annotations

from pathlib import Path

from hlgraph.errors import MigrationError
from hlgraph.stores.migrate import MigrationTarget, differences, plan


def verify(target: MigrationTarget, *, root: Path | None = None) -> None:
    """Check that a store has exactly the schema that this hlgraph needs.

    Parameters
    ----------
    target : store to check
    root : another folder of migrations; None: hlgraph's own

    Raises
    ------
    MigrationError
        As for :func:`plan`, and if a migration is pending or the schema differs from what the migrations make.
    """
    pending = plan(target, root=root).pending
    if pending:
        names = ", ".join(migration.label for migration in pending)
        raise MigrationError(f"the {target.kind} store lacks {names}; run: hlgraph migrate apply")
    drift = differences(target, root=root)
    if drift:
        said = "; ".join(map(str, drift))
        raise MigrationError(f"the schema of the {target.kind} store was changed: {said}; run: hlgraph migrate repair")
