"""The schema of a Neo4j database: what the migrations declare, what is there, and statements that make the one of the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hlgraph.errors import MigrationError
from hlgraph.stores.migrate import Difference

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
    """What the statements of migrations create, with the statement, by name.

    Parameters
    ----------
    statements : all statements of the migrations, in order; those that change no schema are passed over

    Raises
    ------
    MigrationError
        A statement changes the schema in a form that cannot be compared.

    Examples
    --------
    >>> declared(["CREATE INDEX a IF NOT EXISTS FOR (n:Source) ON (n.corpus, n.id)"])["a"][0]
    Declared(form='index', on='Source', keys=('corpus', 'id'))
    """
    found: dict[str, tuple[Declared, str]] = {}
    for statement in statements:
        text = " ".join(statement.split())
        if not re.match(r"(CREATE|DROP) (CONSTRAINT|(\w+ )?INDEX)\b", text):
            continue
        parts = _DECLARED.fullmatch(text)
        if parts is None:
            raise MigrationError(f"{text}: cannot be compared with a database; write it as the other migrations are")
        keys = parts["unique"] or parts["keys"]
        one = Declared(parts["form"].lower(), parts["label"] or parts["type"], tuple(re.findall(r"[nr]\.(\w+)", keys)))
        found[parts["name"]] = (one, statement)
    return found


def beginnings(prefix: str) -> list[str]:
    """How names of constraints and indexes of hlgraph begin: on labels with the prefix, on types of relationships without."""
    return [f"{prefix}{_OURS}", _OURS]


def differences(
    wanted: Mapping[str, tuple[Declared, str]], rows: Iterable[Mapping[str, object]], *, prefix: str = ""
) -> list[Difference]:
    """What is missing, other than declared, not usable, or called like an index of hlgraph without being one; by name.

    Parameters
    ----------
    wanted : result of :func:`declared`
    rows : rows of ``admin/list_indexes``
    prefix : setting ``neo4j.label_prefix``; what another one begins with is not looked at
    """
    there = {str(row["name"]): row for row in rows}
    found: list[Difference] = []
    for name in sorted({*wanted, *(name for name in there if name.startswith(f"{prefix}{_OURS}"))}):
        row = there.get(name)
        if row is None:
            found.append(Difference(name, f"missing: {wanted[name][0]}"))
            continue
        seen = _seen(row)
        if name not in wanted:
            found.append(Difference(name, f"{seen}, which no migration makes"))
        elif seen != wanted[name][0]:
            found.append(Difference(name, f"{seen}, in place of {wanted[name][0]}"))
        elif row["state"] == "FAILED":
            found.append(Difference(name, f"{seen}, whose state is FAILED"))
        elif row["state"] != "ONLINE":
            found.append(
                Difference(name, f"{seen}, whose state is {row['state']}; wait until it is ONLINE", is_mendable=False)
            )
    return found


def _seen(row: Mapping[str, object]) -> Declared:
    form = "constraint" if row["constraint"] else "fulltext index" if row["type"] == "FULLTEXT" else "index"
    if form == "index" and row["type"] != "RANGE":
        form = f"{str(row['type']).lower()} index"
    return Declared(form, "|".join(_texts(row["on"])), tuple(_texts(row["keys"])))


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
