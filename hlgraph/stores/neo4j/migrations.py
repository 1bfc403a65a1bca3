"""A Neo4j database as a migration target: every statement may run twice, and the history is written last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import NamedTuple

from hlgraph.errors import MigrationError, SettingsError, StoreError, StoreUnavailableError
from hlgraph.stores import queries
from hlgraph.stores.migrate import Applied, Difference, Migration, MigrationTarget
from hlgraph.stores.neo4j.lease import Leases
from hlgraph.stores.neo4j.server import Row, Server

# The schema: what the migrations declare, and how a database differs from it.


_OURS = "hlgraph_"
_DECLARED = re.compile(
    r"CREATE (?P<form>CONSTRAINT|INDEX|FULLTEXT INDEX) (?P<name>\w+) IF NOT EXISTS FOR "
    r"(?:\(n:(?P<label>\w+)\)|\(\)-\[r:(?P<type>\w+)\]-\(\)) "
    r"(?:REQUIRE (?P<unique>[nr]\.\w+) IS UNIQUE|ON (?:EACH )?[(\[](?P<keys>[^)\]]*)[)\]])"
)


class Declared(NamedTuple):
    """A constraint or an index.

    Attributes
    ----------
    form : ``constraint`` (of uniqueness), ``index`` or ``fulltext index``
    on : label or relationship type
    keys : names of the properties, in order
    """

    form: str
    on: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.form} on {self.on}({', '.join(self.keys)})"


def declared(statements: Iterable[str]) -> dict[str, tuple[Declared, str]]:
    """The constraints and indexes that migrations create, with the statements that create them, by name.

    Parameters
    ----------
    statements : all statements of the migrations, in order; those that change no schema are skipped

    Raises
    ------
    MigrationError
        A statement changes the schema in a form that cannot be compared.

    Examples
    --------
    >>> declared(["CREATE INDEX a IF NOT EXISTS FOR (n:Source) ON (n.corpus, n.id)"])["a"][0]
    Declared(form='index', on='Source', keys=('corpus', 'id'))
    """
    schema: dict[str, tuple[Declared, str]] = {}
    for statement in statements:
        text = " ".join(statement.split())
        if not re.match(r"(CREATE|DROP) (CONSTRAINT|(\w+ )?INDEX)\b", text):
            continue
        parts = _DECLARED.fullmatch(text)
        if parts is None:
            raise MigrationError(f"{text}: cannot be compared with a database; write it as the other migrations are")
        keys = parts["unique"] or parts["keys"]
        one = Declared(parts["form"].lower(), parts["label"] or parts["type"], tuple(re.findall(r"[nr]\.(\w+)", keys)))
        schema[parts["name"]] = (one, statement)
    return schema


def differences(
    wanted: Mapping[str, tuple[Declared, str]], rows: Iterable[Row], *, prefix: str = ""
) -> list[Difference]:
    """Constraints and indexes that are missing, differ, are not usable, or take a name of hlgraph, with the reason, by name.

    Parameters
    ----------
    wanted : result of :func:`declared`
    rows : rows of ``admin/list_indexes``
    prefix : setting ``neo4j.label_prefix``; names under another prefix are ignored
    """
    there = {row["name"]: row for row in rows}
    drift: list[Difference] = []
    for name in sorted({*wanted, *(name for name in there if name.startswith(f"{prefix}{_OURS}"))}):
        row = there.get(name)
        if row is None:
            drift.append(Difference(name, f"missing: {wanted[name][0]}"))
            continue
        seen = _seen(row)
        if name not in wanted:
            drift.append(Difference(name, f"{seen}, which no migration makes"))
        elif seen != wanted[name][0]:
            drift.append(Difference(name, f"{seen}, in place of {wanted[name][0]}"))
        elif row["state"] == "FAILED":
            drift.append(Difference(name, f"{seen}, whose state is FAILED"))
        elif row["state"] != "ONLINE":
            drift.append(
                Difference(name, f"{seen}, whose state is {row['state']}; wait until it is ONLINE", is_mendable=False)
            )
    return drift


def _seen(row: Row) -> Declared:
    form = "constraint" if row["constraint"] else "fulltext index" if row["type"] == "FULLTEXT" else "index"
    if form == "index" and row["type"] != "RANGE":
        form = f"{row['type'].lower()} index"
    return Declared(form, "|".join(row["on"]), tuple(row["keys"]))


_KEY = "migration_version"  # of the constraint that every schema of hlgraph has
_COMMENT = re.compile(r"^\s*//[^\n]*\n", re.MULTILINE)


class Neo4jTarget(MigrationTarget):
    """One database.

    A server cannot change its schema and write data in one transaction. Therefore each statement of a migration must be
    able to run twice (``IF NOT EXISTS``), and the history is written after all of them. After a kill, the migration runs
    again.

    Parameters
    ----------
    server : the database
    leases : the write leases of the database; default: new ones, which wait for other writers without limit
    population : maximum seconds for populating the indexes of a migration, default 300
    """

    kind = "neo4j"

    def __init__(self, server: Server, *, leases: Leases | None = None, population: int = 300) -> None:
        self._server = server
        self._leases = Leases(server) if leases is None else leases
        self._awaited = f"CALL db.awaitIndexes({population})"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lease of the whole database, once no writer holds a lease of a corpus."""
        if not self.history():  # before the constraint of the first migration, two processes could make one lease each
            self._server.schema([self._server.text("admin/create_lease_constraint")])
        with self._leases.held(None):
            yield

    def history(self) -> list[Applied]:
        """The migrations that ran in this database, by ascending version."""
        return applied(self._server.ask("admin/read_migrations"))

    def apply(self, migration: Migration) -> None:
        """Run the statements in order, wait for the indexes, then record the migration."""
        self._run(self._statements(migration), label=f"{migration.label}: ", command="hlgraph migrate apply")
        properties = asdict(Applied.now(migration))
        version = properties.pop("version")
        self._server.write(
            lambda transaction: transaction.rows("admin/record_migration", version=version, properties=properties)
        )

    def differences(self, ran: Sequence[Migration]) -> list[Difference]:
        """Constraints and indexes that are missing, differ, have failed, or take a name of hlgraph."""
        names = [f"{self._prefix}{_OURS}", _OURS]  # on labels with the prefix, on types of relationships without
        rows = self._server.ask("admin/list_indexes", beginnings=names)
        return differences(self._declared(ran), rows, prefix=self._prefix)

    def mend(self, found: Sequence[Difference], ran: Sequence[Migration]) -> None:
        """See :class:`MigrationTarget`. Drops what differs, and creates what is declared."""
        wanted = self._declared(ran)
        for item in found:
            for name in ("admin/drop_constraint", "admin/drop_index"):
                self._server.write(lambda transaction, name=name, item=item: transaction.rows(name, name=item.name))  # type: ignore[misc]
        self._run(
            [wanted[item.name][1] for item in found if item.name in wanted], label="", command="hlgraph migrate repair"
        )

    def _run(self, statements: list[str], *, label: str, command: str) -> None:
        """Change the schema, and wait for its indexes."""
        try:
            self._server.schema([*statements, self._awaited])
        except StoreUnavailableError:
            raise
        except StoreError as error:
            raise MigrationError(f"{label}{error}; fix the cause, then run: {command}") from error

    def check_prefix(self) -> None:
        """Raise SettingsError if the corpora of this database have another label prefix than the settings.

        Called before a schema is created automatically; ``hlgraph migrate apply`` creates a second one on purpose.
        """
        ending = f"hlgraph_{_KEY}"
        rows = self._server.ask("admin/list_indexes_called", ending=ending)
        others = {row["name"].removesuffix(ending) for row in rows} - {self._prefix}
        filled = [name for name in sorted(others) if self._server.ask("admin/find_label", label=f"{name}Corpus")]
        if filled:
            raise SettingsError(
                f"{self._server.url}: the database {self._server.settings.database} holds corpora under neo4j.label_prefix "
                f"{', '.join(map(repr, filled))}, and the setting is {self._prefix!r}; set it back, or begin a second graph beside "
                "them: hlgraph migrate apply"
            )

    @property
    def _prefix(self) -> str:
        return self._server.settings.label_prefix

    def _statements(self, migration: Migration) -> list[str]:
        return [queries.prefixed(statement, self._prefix) for statement in statements(migration)]

    def _declared(self, ran: Sequence[Migration]) -> dict[str, tuple[Declared, str]]:
        return declared(statement for migration in ran for statement in self._statements(migration))


def applied(rows: Iterable[Row]) -> list[Applied]:
    """The migrations that ran, from rows of ``admin/read_migrations``."""
    return [Applied(**row) for row in rows]


def statements(migration: Migration) -> list[str]:
    """The statements of a migration, without comments and semicolons.

    Examples
    --------
    >>> statements(Migration(1, "two", "", "// both\\nCREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.x);\\nRETURN 1;\\n"))
    ['CREATE INDEX a IF NOT EXISTS FOR (n:A) ON (n.x)', 'RETURN 1']
    """
    text = _COMMENT.sub("", "\n" + migration.text)
    *terminated, rest = (part.strip() for part in text.split(";\n"))
    if rest.rstrip(";"):
        raise MigrationError(f"{migration.label}: its last statement is not terminated; add a ';' after it")
    return terminated
