"""Migrations of the store schema: plan, apply and verify, the same for every kind of store; and where their files are.

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


def label(version: int, name: str) -> str:
    """The name of a migration in files and messages.

    Parameters
    ----------
    version : number of the migration, from 1
    name : what it does, in snake_case

    Examples
    --------
    >>> label(7, "add_topics")
    'V007__add_topics'
    """
    return f"V{version:03d}__{name}"


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file.

    Attributes
    ----------
    text : content of the file, with line ends normalised to ``\\\\n``
    checksum : SHA-256 of the text
    """

    version: int
    name: str
    checksum: str
    text: str

    @property
    def label(self) -> str:
        """``V001__what_it_does``."""
        return label(self.version, self.name)


@dataclass(frozen=True, slots=True)
class Applied:
    """A migration in the history of a store: when it ran (ISO 8601, UTC), and which version of hlgraph ran it."""

    version: int
    name: str
    checksum: str
    applied_at: str
    hlgraph_version: str

    @property
    def label(self) -> str:
        """``V001__what_it_does``."""
        return label(self.version, self.name)


@dataclass(frozen=True, slots=True)
class Plan:
    """The migrations that ran and those that are pending, both in order."""

    applied: tuple[Applied, ...]
    pending: tuple[Migration, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The migrations that :func:`apply` ran, none if the store was up to date, and the present version of the store."""

    applied: tuple[Migration, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of the schema that is not as the migrations make it.

    Attributes
    ----------
    name : of the table, index, constraint or field
    seen : what is there instead, or that it is missing
    is_mendable : whether :func:`repair` makes it again; else ``seen`` says what does
    """

    name: str
    seen: str
    is_mendable: bool = True

    def __str__(self) -> str:
        return f"{self.name}: {self.seen}"


class MigrationTarget(ABC):
    """A store that can be migrated. :func:`apply` and :func:`repair` call ``history``, ``apply`` and ``mend`` inside ``lock``."""

    kind: str
    """The kind of store: a key of ``EXTENSIONS``."""

    @abstractmethod
    def lock(self) -> AbstractContextManager[None]:
        """Holds the exclusive right to migrate this store, across processes; waits while another process holds it.

        A process that dies releases it. Raises StoreLockedError when the wait takes too long.
        """

    @abstractmethod
    def history(self) -> Sequence[Applied]:
        """The migrations that ran, by ascending version. Empty for a store that does not exist; does not create it."""

    @abstractmethod
    def apply(self, migration: Migration) -> None:
        """Runs a migration and records it in the history, atomically if the store has transactions. Needs the lock.

        Raises MigrationError, naming the statement, when the store rejects it.
        """

    @abstractmethod
    def differences(self, ran: Sequence[Migration]) -> Sequence[Difference]:
        """What the store has that these migrations, all that ran, do not make, or lacks of what they make. Changes nothing."""

    @abstractmethod
    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """Makes parts of the schema again. Needs the lock.

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
    """The migrations that ran in a store and those that are pending. Changes nothing and takes no lock.

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
    """As :func:`plan`, of a store whose history was read.

    Parameters
    ----------
    kind : kind of the store
    history : the migrations that ran in it, by ascending version
    root : another folder of migrations; None: hlgraph's own
    """
    return _compare(kind, history, discover(kind, root))


def apply(target: MigrationTarget, *, root: Path | None = None) -> Report:
    """Runs the pending migrations, one process at a time; only reads the store if none is pending.

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
            for migration in pending:
                target.apply(migration)
                progress.advance("migrate")
    return Report(pending, len(migrations))


def differences(target: MigrationTarget, *, root: Path | None = None) -> tuple[Difference, ...]:
    """What of the schema of a store is not as the migrations that ran made it. Changes nothing and takes no lock.

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
    """Makes again what of the schema is not as the migrations that ran made it.

    Parameters
    ----------
    target : store to repair
    root : another folder of migrations; None: hlgraph's own

    Returns
    -------
    tuple
        What was mended. What could not be is what :func:`differences` still finds.

    Raises
    ------
    MigrationError
        As for :func:`plan`, and when the store rejects a statement, such as a constraint that its data break.
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


def verify(target: MigrationTarget, *, root: Path | None = None) -> None:
    """Checks that a store has exactly the schema that this hlgraph needs.

    Parameters
    ----------
    target : store to check
    root : another folder of migrations; None: hlgraph's own

    Raises
    ------
    MigrationError
        As for :func:`plan`, when a migration is pending, and when the schema differs from what the migrations make.
    """
    pending = plan(target, root=root).pending
    if pending:
        names = ", ".join(migration.label for migration in pending)
        raise MigrationError(f"the {target.kind} store lacks {names}; run: hlgraph migrate apply")
    drift = differences(target, root=root)
    if drift:
        said = "; ".join(map(str, drift))
        raise MigrationError(f"the schema of the {target.kind} store was changed: {said}; run: hlgraph migrate repair")


@cache
def running_version() -> str:
    """The version of this hlgraph, for the history; ``unknown`` if it is not installed.

    Read once: a new store asks for each of its migrations, and each time a file would be parsed.
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
