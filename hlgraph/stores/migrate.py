"""Brings a store to the schema that this hlgraph needs: plan, apply, verify; the same for every kind of store.

Migrations are files ``migrations/<store>/V001__what_it_does.<ext>``, numbered from 1 without gaps and never edited
after a release. A store keeps the history of those that ran, with their checksums. So a store can be told apart that
is behind (something is pending), that ran other files than these, or that a newer hlgraph wrote.

What differs between stores is behind :class:`MigrationTarget`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from hlgraph.errors import HLGraphError, MigrationError, UnknownNameError

_PACKAGE = Path(__file__).parents[1]

FolderName: TypeAlias = Literal["cypher", "migrations"]
"""The folders that travel with the code: top-level in a check-out, inside the package in a wheel."""


def folder(name: FolderName) -> Path:
    """The folder of this name: the wheel's copy (``hlgraph/_cypher``), or the top-level one of a check-out.

    Raises
    ------
    HLGraphError
        When there is neither: the installation is incomplete.

    Examples
    --------
    >>> (folder("cypher") / "README.md").is_file()
    True
    """
    packaged = _PACKAGE / f"_{name}"
    if packaged.is_dir():
        return packaged
    checkout = _PACKAGE.parent
    # In site-packages the folder above is not ours, and somebody else's package may be called "migrations".
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise HLGraphError(
        f"{_PACKAGE}: this installation of hlgraph lacks its folder {name!r}"
        f" (neither {packaged} nor {checkout / name}); install hlgraph again"
    )


EXTENSIONS = {"embedded": "sql", "neo4j": "cypher", "opensearch": "json"}
"""The kinds of store, and the extension of their migrations."""

_FILE = re.compile(r"V(\d{3})__([a-z0-9]+(?:_[a-z0-9]+)*)")


def label(version: int, name: str) -> str:
    """How a migration is named in files and messages.

    Examples
    --------
    >>> label(7, "add_topics")
    'V007__add_topics'
    """
    return f"V{version:03d}__{name}"


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: ``text`` with its line ends normalised to ``\\\\n``, and the SHA-256 of that text."""

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
    """A migration as the store remembers it: when it ran (ISO 8601, UTC) and which hlgraph ran it."""

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
    """What ran and what is still to run, both in order."""

    applied: tuple[Applied, ...]
    pending: tuple[Migration, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What :func:`apply` ran (nothing, when the store was up to date), and the version the store has now."""

    applied: tuple[Migration, ...]
    version: int


class MigrationTarget(Protocol):
    """One store that can be migrated. :func:`apply` calls ``history`` and ``apply`` again inside ``lock``."""

    @property
    def kind(self) -> str:
        """The kind of store: a key of ``EXTENSIONS``."""

    def lock(self) -> AbstractContextManager[None]:
        """The exclusive right to migrate this store, across processes; waits for another one to finish.

        Raises StoreLockedError when that takes too long. A process that dies gives the right back.
        """

    def history(self) -> Sequence[Applied]:
        """The migrations that ran, by ascending version; none for a store that does not exist, which is not created."""

    def apply(self, migration: Migration) -> None:
        """Run the migration and record it in the history: both or neither, where the store has transactions.

        Raises MigrationError, naming the statement, when the store refuses it. Needs the lock.
        """


def discover(store: str, root: Path | None = None) -> tuple[Migration, ...]:
    """The migrations of a kind of store, in order.

    Parameters
    ----------
    store : a key of ``EXTENSIONS``
    root : another folder of migrations than hlgraph's own

    Raises
    ------
    UnknownNameError
        When there is no such kind of store.
    MigrationError
        When there are none, when a file is not named like a migration, when a number is missing or there twice.
    """
    if store not in EXTENSIONS:
        raise UnknownNameError(
            f"no migrations for a store of kind {store!r}; the kinds are {', '.join(sorted(EXTENSIONS))}"
        )
    home = (root or folder("migrations")) / store
    # Editors and desktops leave hidden files behind; nobody meant them to be migrations.
    paths = sorted(path for path in home.glob("*") if not path.name.startswith("."))
    if not paths:
        raise MigrationError(f"{home}: holds no migrations; install hlgraph again, or write V001__what_it_does first")
    found: list[Migration] = []
    for path in paths:
        parts = _FILE.fullmatch(path.stem)
        if parts is None or path.suffix != f".{EXTENSIONS[store]}":
            raise MigrationError(
                f"{path}: not a migration; name it V001__what_it_does.{EXTENSIONS[store]}, or move it away"
            )
        version = int(parts[1])
        if version != len(found) + 1:
            raise MigrationError(
                f"{path}: number {version:03d} where {len(found) + 1:03d} is due;"
                " migrations are numbered from 001, each number once"
            )
        found.append(_read(version, parts[2], path))
    return tuple(found)


def _read(version: int, name: str, path: Path) -> Migration:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise MigrationError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Migration(version, name, hashlib.sha256(text.encode()).hexdigest(), text)


def plan(target: MigrationTarget, *, root: Path | None = None) -> Plan:
    """What ran in the store and what is pending. Changes nothing and takes no lock.

    Raises
    ------
    MigrationError
        When the store has migrations that this hlgraph does not know (it is too old), or ran other texts than these.
    """
    return _compare(target, discover(target.kind, root))


def apply(target: MigrationTarget, *, root: Path | None = None) -> Report:
    """Run what is pending, one process at a time; with nothing pending the store is only read.

    Raises
    ------
    MigrationError
        As :func:`plan`, and when the store refuses a statement.
    StoreLockedError
        When another process holds the lock for too long.
    """
    migrations = discover(target.kind, root)
    if not _compare(target, migrations).pending:
        return Report((), len(migrations))
    with target.lock():
        # Again, because another process may have run them while this one waited.
        pending = _compare(target, migrations).pending
        for migration in pending:
            target.apply(migration)
    return Report(pending, len(migrations))


def verify(target: MigrationTarget, *, root: Path | None = None) -> None:
    """Return if the store has exactly the schema that this hlgraph needs.

    Raises
    ------
    MigrationError
        As :func:`plan`, and when something is pending.
    """
    pending = plan(target, root=root).pending
    if pending:
        names = ", ".join(migration.label for migration in pending)
        raise MigrationError(f"the {target.kind} store lacks {names}; run: hlgraph migrate apply")


def running_version() -> str:
    """The version of this hlgraph, for the history; ``unknown`` where it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hlgraph")
    except PackageNotFoundError:
        return "unknown"


def _compare(target: MigrationTarget, migrations: Sequence[Migration]) -> Plan:
    history = tuple(target.history())
    if [item.version for item in history] != list(range(1, len(history) + 1)):
        numbers = ", ".join(str(item.version) for item in history)
        raise MigrationError(
            f"the history of the {target.kind} store is broken: it holds {numbers}; restore a copy of it"
        )
    if len(history) > len(migrations):
        newest = history[-1]
        raise MigrationError(
            f"this {target.kind} store was written by a newer hlgraph ({newest.hlgraph_version}):"
            f" it has {newest.label}, this hlgraph knows {len(migrations)} migrations; upgrade hlgraph"
        )
    for item, migration in zip(history, migrations, strict=False):
        if (item.name, item.checksum) != (migration.name, migration.checksum):
            raise MigrationError(
                f"migrations/{target.kind}/{migration.label}.{EXTENSIONS[target.kind]} is not the {item.label} that"
                f" this store ran on {item.applied_at}; restore it (a migration is never edited: write a new one)"
            )
    return Plan(history, tuple(migrations[len(history) :]))
