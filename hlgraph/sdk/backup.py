"""Make, check and restore backups of an embedded store, or of servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph import progress
from hlgraph.errors import InputError, StoreCorruptError
from hlgraph.sdk.arguments import checking
from hlgraph.sdk.opening import open_checked, settings_of
from hlgraph.settings import Settings
from hlgraph.stores import migrate
from hlgraph.stores.open import open_backups

if TYPE_CHECKING:
    from hlgraph.progress import OnProgress
    from hlgraph.stores.protocols import Backup, Stores

_JOURNAL, _MIGRATIONS = "journal", "migrations"


def back_up(settings: Settings, target: Path, *, on_progress: OnProgress | None = None) -> Backup:
    """See :meth:`hlgraph.HLGraph.backup`.

    Parameters
    ----------
    settings : settings of the store
    target : folder of the backup
    on_progress : called with the :class:`hlgraph.Progress` of every step; default none
    """
    if not settings.store.startswith("hlgraph://"):
        from hlgraph.ingest import backups as of_servers

        with progress.listening(on_progress), _opened(settings) as stores:
            return of_servers.back_up(stores, store=settings.store, target=target)
    with progress.listening(on_progress), open_backups(settings) as backups:
        return backups.make(target, check=lambda folder: _is_unfinished(settings, folder))


@contextmanager
def _opened(settings: Settings) -> Iterator[Stores]:
    opened = open_checked(settings)
    with opened.closing:
        yield opened.stores


def _is_unfinished(settings: Settings, folder: Path) -> bool:
    """Whether a copy has unfinished changes; raises StoreCorruptError if ``hlgraph doctor`` finds anything else wrong.

    The copy of a store with an older schema is checked by SQLite only.
    """
    opened = open_checked(replaced(settings, store=f"hlgraph://{folder}"))
    with opened.closing:
        wrong = {finding.check: finding.seen for finding in opened.check() if not finding.is_fine}
    is_unfinished = wrong.pop(_JOURNAL, None) is not None
    if _MIGRATIONS in wrong and migrate.plan(opened.targets[0]).pending:
        wrong.pop(_MIGRATIONS)
    if wrong:
        said = "; ".join(f"{name}: {seen}" for name, seen in wrong.items())
        raise StoreCorruptError(
            f"{settings.store}: the copy of this store is not fine ({said}); run: hlgraph --store {settings.store} doctor. "
            "The last complete backup stays"
        )
    return is_unfinished


@checking
def restore(
    backup: str | Path,
    target: str | Path | Settings | None = None,
    *,
    replace: bool = False,
    on_progress: OnProgress | None = None,
) -> Backup:
    """Make a store from a backup.

    A backup of an embedded store makes an embedded store. If the call is killed, it is the old one or the new one, each as a whole.
    Every block is compared with its checksum before the store appears. A graph that has the old store open reads the new one
    from its next call on.

    A backup of servers makes empty servers, or an embedded store, the same. Every file is compared with its checksum first. Nothing
    is visible before all of it is written; after a kill the same call continues.

    Parameters
    ----------
    backup : folder of the backup
    target : the store to make, as for :func:`hlgraph.connect`
    replace : replace an existing embedded store; default False
    on_progress : called with the :class:`hlgraph.Progress` of every step; default none

    Returns
    -------
    Backup
        What was restored.

    Raises
    ------
    InputError : there is no complete backup, there is a store already, or the backup of an embedded store is to go to servers
    StoreLockedError : another process writes to the store, or uses the backup
    StoreCorruptError : the backup is damaged; the message names the files, and the store stays as it was
    MigrationError : a newer hlgraph made the backup
    StoreUnavailableError : a disk is full, or a file cannot be read or written
    """
    from hlgraph.ingest import backups as of_servers

    settings = settings_of(target)
    if of_servers.is_of_servers(Path(backup)):
        if replace:
            raise InputError(
                f"{backup}: a backup of servers is restored to an empty store, and replaces none; leave replace out"
            )
        with progress.listening(on_progress), _opened(settings) as stores:
            return of_servers.restore(stores, Path(backup))
    if not settings.store.startswith("hlgraph://"):
        raise InputError(
            f"{backup}: this is no backup of servers, so it cannot be restored to {settings.store}; restore it to an embedded "
            "store, and move its corpora: hlgraph export, hlgraph import"
        )
    with progress.listening(on_progress), open_backups(settings) as backups:
        return backups.restore(Path(backup), replace=replace)
