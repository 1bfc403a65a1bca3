"""Migrations of the store schema: plan, apply and repair, the same for every kind of store; and where their files are.

Migrations are files ``migrations/<store>/V001__what_it_does.<ext>``, numbered from 1 without gaps and never edited
after a release. A store keeps the history of the migrations that ran, with their checksums. The history tells whether a
store is behind (migrations are pending), ran different files, or was written by a newer hlgraph.

:class:`MigrationTarget` hides the differences between stores. :func:`folder` finds ``migrations/``, and ``cypher/`` for
:mod:`hlgraph.stores.queries`.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from hlgraph import progress
from hlgraph.errors import HLGraphError, MigrationError, UnknownNameError

FolderName: TypeAlias = Literal["cypher", "migrations", "recipes"]
"""The folders of data files: inside the package in a wheel, and at these places in a check-out."""
_CHECKOUT: Mapping[FolderName, str] = {
    "cypher": "cypher",
    "migrations": "migrations",
    "recipes": "docs/papers/recipes",
}
EXTENSIONS = {"embedded": "sql", "neo4j": "cypher", "opensearch": "json"}
"""The kinds of store, and the file extension of their migrations."""

_PACKAGE = Path(__file__).parents[1]
_FILE = re.compile(r"V(\d{3})__([a-z0-9]+(?:_[a-z0-9]+)*)")


def folder(name: FolderName) -> Path:
    """The data folder of this name: the copy in a wheel (``hlgraph/_cypher``), or the one of a check-out.

    Raises
    ------
    HLGraphError
        Neither exists: the installation is incomplete.

    Examples
    --------
    >>> (folder("cypher") / "README.md").is_file()
    True
    """
    packaged = _PACKAGE / f"_{name}"
    if packaged.is_dir():
        return packaged
    checkout = _PACKAGE.parent
    there = checkout / _CHECKOUT[name]
    # In site-packages the parent folder is not ours, and another package may be called "migrations".
    if (checkout / "pyproject.toml").is_file() and there.is_dir():
        return there
    raise HLGraphError(
        f"{_PACKAGE}: this installation of hlgraph lacks its folder {name!r}"
        f" (neither {packaged} nor {there}); install hlgraph again"
    )


@dataclass(frozen=True, slots=True)
class _Named:
    version: int
    name: str
    checksum: str

    @property
    def label(self) -> str:
        """``V001__what_it_does``."""
        return f"V{self.version:03d}__{self.name}"


@dataclass(frozen=True, slots=True)
class Migration(_Named):
    """One migration file.

    Attributes
    ----------
    text : content of the file, with line ends normalised to ``\\\\n``
    checksum : SHA-256 of the text
    """

    text: str


@dataclass(frozen=True, slots=True)
class Applied(_Named):
    """A migration in the history of a store: when it ran (ISO 8601, UTC), and which version of hlgraph ran it."""

    applied_at: str
    hlgraph_version: str

    @classmethod
    def now(cls, migration: Migration) -> Applied:
        """The record of a migration that has just run."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(migration.version, migration.name, migration.checksum, at, running_version())


@dataclass(frozen=True, slots=True)
class Plan:
    """The migrations that ran and those that are pending, both in order."""

    applied: tuple[Applied, ...]
    pending: tuple[Migration, ...]

    @property
    def summary(self) -> str:
        """How many there are of each."""
        return f"{len(self.applied)} applied, {len(self.pending)} pending"


@dataclass(frozen=True, slots=True)
class Report:
    """The migrations that :func:`apply` ran, none if the store was up to date, and the present version of the store."""

    applied: tuple[Migration, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of the schema that differs from the schema that the migrations create.

    Attributes
    ----------
    name : name of the table, index, constraint or field
    seen : its present form, or that it is missing
    is_mendable : whether :func:`repair` restores it; otherwise ``seen`` names the remedy
    """

    name: str
    seen: str
    is_mendable: bool = True

    def __str__(self) -> str:
        return f"{self.name}: {self.seen}"


def described(differences: Sequence[Difference]) -> str:
    """The differences and their remedy, as ``hlgraph doctor`` says them."""
    wrong = "; ".join(map(str, differences))
    return f"{wrong}; run: hlgraph migrate repair" if wrong else "as the migrations made it"


class MigrationTarget(ABC):
    """A store that can be migrated. :func:`apply` and :func:`repair` call ``history``, ``apply`` and ``mend`` inside ``lock``."""

    kind: str
    """The kind of store: a key of ``EXTENSIONS``."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Hold the migration lock of this store, across processes; waits while another process holds it.

        A process that dies releases it. Raises StoreLockedError if the wait takes too long.
        """

    @abstractmethod
    def history(self) -> Sequence[Applied]:
        """The migrations that ran, by ascending version. Empty for a store that does not exist; does not create it."""

    @abstractmethod
    def apply(self, migration: Migration) -> None:
        """Run a migration and record it in the history, atomically if the store has transactions. Needs the lock.

        Raises MigrationError, naming the statement, if the store rejects it.
        """

    def apply_all(self, pending: Sequence[Migration]) -> None:
        """Run migrations in order, as :meth:`apply` does. Needs the lock."""
        for migration in pending:
            self.apply(migration)
            progress.advance("migrate")

    @abstractmethod
    def differences(self, ran: Sequence[Migration]) -> Sequence[Difference]:
        """The differences between the store and the schema that these applied migrations create. Changes nothing."""

    @abstractmethod
    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """Repair parts of the schema. Needs the lock.

        Parameters
        ----------
        found : mendable results of :meth:`differences`
        ran : all migrations that ran

        Raises
        ------
        MigrationError
            The store rejects it.
        """


def discover(store: str, root: Path | None = None) -> tuple[Migration, ...]:
    """The migrations of a kind of store, in order.

    Parameters
    ----------
    store : a key of ``EXTENSIONS``
    root : another folder of migrations; None: hlgraph's own

    Raises
    ------
    UnknownNameError
        The kind of store is unknown.
    MigrationError
        The folder is empty, a file is not named like a migration, or a number is missing or occurs twice.
    """
    if store not in EXTENSIONS:
        raise UnknownNameError(
            f"no migrations for a store of kind {store!r}; the kinds are {', '.join(sorted(EXTENSIONS))}"
        )
    home = (root or folder("migrations")) / store
    # Editors and desktops leave hidden files behind; skip them.
    paths = sorted(path for path in home.glob("*") if not path.name.startswith("."))
    if not paths:
        raise MigrationError(f"{home}: holds no migrations; install hlgraph again, or write V001__what_it_does first")
    migrations: list[Migration] = []
    for path in paths:
        parts = _FILE.fullmatch(path.stem)
        if parts is None or path.suffix != f".{EXTENSIONS[store]}":
            raise MigrationError(
                f"{path}: not a migration; rename it to V001__what_it_does.{EXTENSIONS[store]}, or move it away"
            )
        version = int(parts[1])
        if version != len(migrations) + 1:
            raise MigrationError(
                f"{path}: its number is {version:03d}, but {len(migrations) + 1:03d} is expected;"
                " number migrations from 001, each number once"
            )
        migrations.append(_read(version, parts[2], path))
    return tuple(migrations)


def _read(version: int, name: str, path: Path) -> Migration:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise MigrationError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Migration(version, name, hashlib.sha256(text.encode()).hexdigest(), text)


def plan(target: MigrationTarget, *, root: Path | None = None) -> Plan:
    """The applied and the pending migrations of a store. Changes nothing and takes no lock.

    Parameters
    ----------
    target : store to look at
    root : another folder of migrations; None: hlgraph's own

    Raises
    ------
    MigrationError
        A newer hlgraph wrote the store, or a migration ran with another text.
    """
    return planned(target.kind, target.history(), root=root)


def planned(kind: str, history: Sequence[Applied], *, root: Path | None = None) -> Plan:
    """Like :func:`plan`, for a history that was already read.

    Parameters
    ----------
    kind : kind of the store
    history : the migrations that ran in it, by ascending version
    root : another folder of migrations; None: hlgraph's own
    """
    return _compare(kind, history, discover(kind, root))


def apply(target: MigrationTarget, *, root: Path | None = None) -> Report:
    """Run the pending migrations, one process at a time; only reads the store if none is pending.

    Parameters
    ----------
    target : store to migrate
    root : another folder of migrations; None: hlgraph's own

    Raises
    ------
    MigrationError
        As for :func:`plan`, and when the store rejects a statement.
    StoreLockedError
        Another process holds the lock for too long.
    """
    migrations = discover(target.kind, root)
    if not _compare(target.kind, target.history(), migrations).pending:
        return Report((), len(migrations))
    with target.lock():
        # Compare again: another process may have run them while this one waited.
        pending = _compare(target.kind, target.history(), migrations).pending
        with progress.step("migrate", len(pending), unit="migrations"):
            target.apply_all(pending)
    return Report(pending, len(migrations))


def differences(target: MigrationTarget, *, root: Path | None = None) -> tuple[Difference, ...]:
    """The parts of the schema that differ from what the applied migrations made. Changes nothing and takes no lock.

    Parameters
    ----------
    target : store to look at
    root : another folder of migrations; None: hlgraph's own

    Raises
    ------
    MigrationError
        As for :func:`plan`.
    """
    ran = _ran(target, discover(target.kind, root))
    return tuple(target.differences(ran)) if ran else ()


def repair(target: MigrationTarget, *, root: Path | None = None) -> tuple[Difference, ...]:
    """Repair the parts of the schema that differ from what the applied migrations made.

    Parameters
    ----------
    target : store to repair
    root : another folder of migrations; None: hlgraph's own

    Returns
    -------
    tuple
        The repaired parts. :func:`differences` still finds those that could not be repaired.

    Raises
    ------
    MigrationError
        As for :func:`plan`, and when the store rejects a statement, such as a constraint that its data violate.
    StoreLockedError
        Another process holds the lock for too long.
    """
    migrations = discover(target.kind, root)
    if not _ran(target, migrations):
        return ()
    with target.lock():
        ran = _ran(target, migrations)
        mended = tuple(item for item in target.differences(ran) if item.is_mendable)
        if mended:
            target.mend(mended, ran)
    return mended


@cache
def running_version() -> str:
    """The version of this hlgraph, for the history; ``unknown`` if it is not installed.

    Cached: a new store needs it once per migration, and each lookup would parse a file.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hlgraph")
    except PackageNotFoundError:
        return "unknown"


def _ran(target: MigrationTarget, migrations: Sequence[Migration]) -> tuple[Migration, ...]:
    """The migrations of this hlgraph that ran in a store."""
    return tuple(migrations[: len(_compare(target.kind, target.history(), migrations).applied)])


def _compare(kind: str, history: Sequence[Applied], migrations: Sequence[Migration]) -> Plan:
    if [item.version for item in history] != list(range(1, len(history) + 1)):
        numbers = ", ".join(str(item.version) for item in history)
        raise MigrationError(
            f"the migration history of the {kind} store is broken: it holds {numbers}; restore the store from a backup"
        )
    if len(history) > len(migrations):
        newest = history[-1]
        raise MigrationError(
            f"this {kind} store was written by a newer hlgraph ({newest.hlgraph_version}):"
            f" it has {newest.label}, this hlgraph knows {len(migrations)} migrations; upgrade hlgraph"
        )
    for item, migration in zip(history, migrations, strict=False):
        if (item.name, item.checksum) != (migration.name, migration.checksum):
            raise MigrationError(
                f"migrations/{kind}/{migration.label}.{EXTENSIONS[kind]} is not the {item.label} that"
                f" this store ran on {item.applied_at}; restore the file, and write changes as a new migration"
            )
    return Plan(tuple(history), tuple(migrations[len(history) :]))
