"""Results of SQL queries (``sql:NAME``), through SQLAlchemy, which a mapping of rows names with its connection.

A query runs once. Its rows are streamed to a temporary file without a name before the first one is read, so a query that fails
in the middle gives no row.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

import msgspec

from hlgraph.errors import InputError, ReadError, needs_extra
from hlgraph.read.rows import named_value, plain_value, shown
from hlgraph.settings import secret

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection

_NAME = re.compile(r"sql:[\w.-]+")
_PASSWORD = re.compile(r"[^:/]*:[^@]*@")  # as SQLAlchemy parses it
_SECRET = re.compile(r"(?:pass|pwd|secret|token)[^=&;]*(?:=|%3D)", re.IGNORECASE)
_READ_ONLY = frozenset({"mariadb", "mysql", "oracle", "postgresql"})
_BATCH = 1_000  # rows that the driver fetches at once
_SAID = 300  # characters of a message


class SqlQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A query whose result is a table.

    Attributes
    ----------
    connection : URL of the database as SQLAlchemy takes it, without a password, such as
        ``postgresql+psycopg://reader@db.example.org/shop`` or ``sqlite:///shop.db``
    query : statement in the SQL of the database that returns rows; it runs in a transaction that is read only and rolled back
    password : name of the environment variable that holds the password; default none
    """

    connection: str
    query: str
    password: str = ""

    def __post_init__(self) -> None:
        """Refuse a password in the URL. Raises InputError."""
        _, _, rest = self.connection.partition("://")
        if _PASSWORD.match(rest) or _SECRET.search(rest):
            raise InputError(
                "sql: the connection holds a password; leave it out, and name the environment variable that holds it in "
                "password"
            )


@contextmanager
def opened(uri: str, query: SqlQuery | None) -> Iterator[io.BufferedReader]:
    """The result of a query as JSON lines, one object per row.

    Parameters
    ----------
    uri : ``sql:NAME``
    query : the query; None without a mapping that names one

    Raises
    ------
    InputError
        The connection cannot be used, or the variable of its password is not set.
    MissingExtraError
        SQLAlchemy is not installed.
    ReadError
        The name is not one, or the query fails or returns no table.
    """
    if query is None:
        mend = "give a mapping of rows whose sql has a connection and a query"
        raise ReadError(uri, "is the result of a query, and no query is given", mend)
    if not _NAME.fullmatch(uri):
        raise ReadError(uri, "is not a name for the result of a query", "write sql:NAME with letters, digits, . _ -")
    with tempfile.TemporaryFile() as file:
        for row in _rows(uri, query):
            file.write(msgspec.json.encode(row))
            file.write(b"\n")
        file.seek(0)
        yield cast("io.BufferedReader", file)


def _rows(uri: str, query: SqlQuery) -> Iterator[Mapping[str, object]]:
    with needs_extra("sql", "reading the result of a query"):
        import sqlalchemy
        from sqlalchemy.exc import SQLAlchemyError
        from sqlalchemy.pool import NullPool
    password = secret(query.password) if query.password else None
    if query.password and password is None:
        raise InputError(f"{uri}: the environment variable {query.password} with the password is not set; set it")
    try:
        url = _url(sqlalchemy.make_url(query.connection), password)
        engine = sqlalchemy.create_engine(url, poolclass=NullPool, hide_parameters=True)
    except ImportError as error:
        mend = "install it with pip, or name another one in the connection, as in postgresql+psycopg://"
        raise InputError(f"{uri}: the driver of the database is not installed ({error}); {mend}") from None
    except (SQLAlchemyError, ValueError) as error:
        mend = "write a URL as SQLAlchemy takes it, such as sqlite:///shop.db"
        raise InputError(f"{uri}: its connection cannot be used ({_said(error, password)}); {mend}") from None
    try:
        with engine.connect() as connection:
            yield from _result(uri, connection, query.query)
    except (SQLAlchemyError, ValueError, ArithmeticError) as error:
        mend = "correct the query or the connection; nothing of its result was written"
        raise ReadError(uri, f"its query failed ({_said(error, password)})", mend) from None
    finally:
        engine.dispose()


def _url(url: URL, password: str | None) -> URL:
    """The URL with the password. A file of SQLite is opened read only, so that a misspelt path makes no file."""
    if url.get_backend_name() == "sqlite" and url.database and not url.database.startswith((":", "file:")):
        file = f"file:{quote(str(Path(url.database).absolute()))}"
        return url.set(database=file).update_query_dict({"mode": "ro", "uri": "true"})
    return url if password is None else url.set(password=password)


def _result(uri: str, connection: Connection, query: str) -> Iterator[Mapping[str, object]]:
    if connection.dialect.name in _READ_ONLY:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    streamed = connection.execution_options(stream_results=True, max_row_buffer=_BATCH, no_parameters=True)
    result = streamed.exec_driver_sql(query)
    if not result.returns_rows:
        raise ReadError(uri, "its query returns no rows", "write a SELECT")
    names = list(result.keys())
    if twice := {name for name in names if names.count(name) > 1}:
        raise ReadError(uri, f"two columns are called {min(twice)!r}", "rename one of them with AS")
    for row in result:
        yield {name: _plain(named_value(name, cell)) for name, cell in zip(names, row, strict=True)}


def _plain(cell: object) -> object:
    """A cell as JSON has it: NaN is empty, and an infinity is a text, which is no number."""
    if isinstance(cell, date | time) or (isinstance(cell, float) and math.isinf(cell)):
        return shown(cell)
    return plain_value(cell)


def _said(error: Exception, password: str | None) -> str:
    """The message of the driver, without the statement and the password."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    return (said.replace(password, "***") if password else said)[:_SAID]
