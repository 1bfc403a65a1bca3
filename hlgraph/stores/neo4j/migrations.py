"""A Neo4j database as a migration target: every statement may run twice, and the history is written last."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from hlgraph.errors import MigrationError, StoreError, StoreUnavailableError
from hlgraph.stores.migrate import Applied, Difference, Migration, running_version
from hlgraph.stores.neo4j import schema
from hlgraph.stores.neo4j.journal import whole
from hlgraph.stores.neo4j.lease import Lease
from hlgraph.stores.neo4j.server import Server

_COMMENT = re.compile(r"^\s*//[^\n]*\n", re.MULTILINE)


def _now() -> datetime:
    return datetime.now(UTC)


class Neo4jTarget:
    """One database.

    A server cannot change its schema and write data in one transaction. Therefore each statement of a migration must be
    able to run twice (``IF NOT EXISTS``), and the history is written after all of them. After a kill, the migration runs
    again.
    """

    kind = "neo4j"

    def __init__(self, server: Server, *, clock: Callable[[], datetime] = _now) -> None:
        self._server = server
        self._clock = clock

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the lease ``migration`` of the database; never waits, because another holder does the same work."""
        with Lease(self._server, "migration").held():
            yield

    def history(self) -> list[Applied]:
        """The migrations that ran in this database, by ascending version."""
        rows = self._server.read(lambda transaction: transaction.rows("admin/read_migrations"))
        return [
            Applied(
                whole(row, "version"),
                str(row["name"]),
                str(row["checksum"]),
                str(row["applied_at"]),
                str(row["hlgraph_version"]),
            )
            for row in rows
        ]

    def apply(self, migration: Migration) -> None:
        """Runs the statements in order, waits for the indexes, then records the migration."""
        try:
            self._server.schema([*statements(migration), "CALL db.awaitIndexes(300)"])
        except StoreUnavailableError:
            raise
        except StoreError as error:
            raise MigrationError(
                f"{migration.label}: {error}; fix the cause, then run: hlgraph migrate apply"
            ) from error
        properties = {
            "name": migration.name,
            "checksum": migration.checksum,
            "applied_at": self._clock().astimezone(UTC).isoformat(timespec="seconds"),
            "hlgraph_version": running_version(),
        }
        self._server.write(
            lambda transaction: transaction.rows(
                "admin/record_migration", version=migration.version, properties=properties
            )
        )

    def differences(self, ran: Sequence[Migration]) -> list[Difference]:
        """Constraints and indexes that are missing, other than declared, failed, or called like hlgraph's without being one."""
        rows = self._server.read(lambda transaction: transaction.rows("admin/list_indexes"))
        return schema.differences(_declared(ran), rows)

    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """See :class:`MigrationTarget`. Drops what is other than declared, and creates what was declared."""
        wanted = _declared(ran)
        for item in found:
            for name in ("admin/drop_constraint", "admin/drop_index"):
                self._server.write(lambda transaction, name=name, item=item: transaction.rows(name, name=item.name))  # type: ignore[misc]
        made = [wanted[item.name][1] for item in found if item.name in wanted]
        try:
            self._server.schema([*made, "CALL db.awaitIndexes(300)"])
        except StoreUnavailableError:
            raise
        except StoreError as error:
            raise MigrationError(f"{error}; fix the cause, then run: hlgraph migrate repair") from error


def _declared(ran: Sequence[Migration]) -> dict[str, tuple[schema.Declared, str]]:
    return schema.declared(statement for migration in ran for statement in statements(migration))


def statements(migration: Migration) -> list[str]:
    """The statements of a migration, without comments and semicolons.

    Examples
    --------
    >>> statements(Migration(1, "two", "", "// both\\nCREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.x);\\nRETURN 1;\\n"))
    ['CREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.x)', 'RETURN 1']
    """
    text = _COMMENT.sub("", "\n" + migration.text)
    *found, rest = (part.strip() for part in text.split(";\n"))
    if rest.rstrip(";"):
        raise MigrationError(f"{migration.label}: its last statement is not terminated; add a ';' after it")
    return found
