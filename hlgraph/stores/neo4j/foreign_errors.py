"""Translates errors of the Neo4j driver and server into those of hlgraph, in one place."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from neo4j import exceptions as foreign

from hlgraph.errors import StoreClosedError, StoreConflictError, StoreCorruptError, StoreError, StoreUnavailableError

_RESUME = "run the same command again; it continues where it stopped"
TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
"""The code of a transaction that exceeded the time limit set by the client."""
LOCK_STOPPED = "Neo.ClientError.Transaction.LockClientStopped"
"""The code of a transaction that was ended, also by its time limit, while it waited for a lock."""

_OR_DROP = "or drop a change that is too large: hlgraph journal drop"
_BY_CODE = {
    "Neo.ClientError.Security.Unauthorized": (
        StoreError,
        "the server refused the user or the password, or the token; set neo4j.user and HLGRAPH_NEO4J_PASSWORD, or neo4j.auth and "
        "HLGRAPH_NEO4J_TOKEN",
    ),
    "Neo.ClientError.Security.AuthenticationRateLimit": (
        StoreUnavailableError,
        "too many wrong passwords; wait a few seconds, and set HLGRAPH_NEO4J_PASSWORD",
    ),
    "Neo.ClientError.Security.CredentialsExpired": (
        StoreError,
        "the password must be changed first; run: ALTER CURRENT USER SET PASSWORD",
    ),
    "Neo.ClientError.Security.Forbidden": (
        StoreError,
        "the user lacks a privilege; grant it the role publisher and schema rights",
    ),
    "Neo.ClientError.Database.DatabaseNotFound": (
        StoreError,
        "there is no such database on the server; set neo4j.database and neo4j.databases to names that SHOW DATABASES lists, or "
        "create it (CREATE DATABASE; the Community edition has one database alone)",
    ),
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": (
        StoreUnavailableError,
        f"the database is read-only; make it writable, then {_RESUME}",
    ),
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase": (
        StoreUnavailableError,
        f"the database is read-only; make it writable, then {_RESUME}",
    ),
    "Neo.ClientError.Procedure.ProcedureNotFound": (
        StoreError,
        "a procedure is missing; install the Graph Data Science plugin (GDS) on the server, or rank in process",
    ),
    "Neo.ClientError.Schema.ConstraintValidationFailed": (
        StoreCorruptError,
        "nodes or a constraint of another program forbid what hlgraph writes; remove them (SHOW CONSTRAINTS lists those "
        f"whose name does not start with hlgraph_), or use another database, then {_RESUME}",
    ),
    "Neo.DatabaseError.Schema.ConstraintCreationFailed": (
        StoreCorruptError,
        "nodes of another program have a label of hlgraph and the same key twice; remove them, or use another database",
    ),
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError": (
        StoreUnavailableError,
        f"the server has too little memory for this transaction; raise dbms.memory.transaction.total.max or the heap, "
        f"then {_RESUME}, {_OR_DROP}",
    ),
    "Neo.ClientError.General.TransactionOutOfMemoryError": (
        StoreUnavailableError,
        "the transaction needs more memory than this server allows; raise db.memory.transaction.max, then "
        f"{_RESUME}, {_OR_DROP}",
    ),
    "Neo.ClientError.Transaction.TransactionTimedOut": (
        StoreUnavailableError,
        f"the server ended the transaction by its time limit; raise db.transaction.timeout, then {_RESUME}, {_OR_DROP}",
    ),
    **dict.fromkeys(
        (
            LOCK_STOPPED,
            "Neo.ClientError.Transaction.Terminated",
            "Neo.ClientError.Transaction.TransactionTerminated",
        ),
        (
            StoreUnavailableError,
            f"the server ended the transaction, because it shuts down or a user ended it; {_RESUME}",
        ),
    ),
    TIMED_OUT: (
        StoreUnavailableError,
        f"the transaction took longer than hlgraph waits for one; {_RESUME}, {_OR_DROP}",
    ),
}
_FULL = ("no space left", "disk full")
_GDS = "Neo.ClientError.Procedure.ProcedureNotFound"


LOST = (OSError, foreign.IncompleteCommit, foreign.ServiceUnavailable, foreign.SessionExpired, foreign.TransientError)
"""Errors of a read whose server is away, or was for a moment."""
CLOSING: tuple[type[Exception], ...] = (StoreError, foreign.DriverError, foreign.Neo4jError, OSError, BufferError)
CLOSING += (AttributeError, ValueError, TypeError, LookupError, AssertionError, RuntimeError)
"""What a call ends with if another thread closes its connection meanwhile: the driver does not guard against that."""


@contextlib.contextmanager
def mapped(url: str, *, is_closed: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Raises errors of Neo4j in a block as hlgraph errors that name the server and the remedy, never a value of a query.

    Parameters
    ----------
    url : URL of the server
    is_closed : whether the connection was closed: then every error is a StoreClosedError
    """
    try:
        with _mapped(url):
            yield
    except CLOSING as error:
        if is_closed():
            raise closed(url) from error
        raise


def closed(url: str) -> StoreClosedError:
    """The error of a call after, or during, the closing of the store."""
    return StoreClosedError(f"{url}: the store was closed; open it again")


def unanswered(url: str, *, seconds: float, error: BaseException) -> StoreUnavailableError:
    """The error of a read whose deadline is over.

    Parameters
    ----------
    url : URL of the server
    seconds : the deadline
    error : what happened last
    """
    return StoreUnavailableError(
        f"{url}: no answer from Neo4j within {seconds:g} s ({_reason(error)}); start the server, or check the network, and ask "
        "again; neo4j.read_seconds sets how long a search waits"
    )


@contextlib.contextmanager
def _mapped(url: str) -> Iterator[None]:
    try:
        yield
    except foreign.Neo4jError as error:
        raise _server_error(url, error) from error
    except foreign.ConfigurationError as error:
        raise StoreError(f"{url}: {error}; check the URL of the store and neo4j.ca") from error
    except foreign.IncompleteCommit as error:
        raise _lost(url, error) from error
    except foreign.ServiceUnavailable as error:
        raise _no_server(url, error) from error
    except (foreign.SessionExpired, foreign.DriverError, OSError) as error:
        raise _lost(url, error) from error


def _server_error(url: str, error: foreign.Neo4jError) -> StoreError:
    code, message = error.code or "", error.message or ""
    if any(word in message.lower() for word in _FULL):
        return StoreUnavailableError(f"{url}: the disk of the server is full; free some space, then {_RESUME}")
    if "Unknown function 'gds." in message:
        code = _GDS
    if code in _BY_CODE:
        kind, text = _BY_CODE[code]
        return kind(f"{url}: {text}")
    said = _line(message) or code
    if isinstance(error, foreign.TransientError):
        if "DeadlockDetected" in code:
            return StoreConflictError(
                f"{url}: another process writes the same nodes ({code}); run the same command again"
            )
        return StoreUnavailableError(f"{url}: {said} ({code}); {_RESUME}")
    return StoreError(f"{url}: {said} ({code}); run: hlgraph doctor")


def _no_server(url: str, error: foreign.ServiceUnavailable) -> StoreError:
    text = " ".join(str(item) for item in _chain(error))
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return StoreError(
            f"{url}: the certificate of the server is not trusted; set neo4j.ca to the file of its authority's certificate"
        )
    return StoreUnavailableError(
        f"{url}: no Neo4j server answers ({_reason(error)}); start it, or correct the URL of the store (+s only if the server "
        "uses TLS)"
    )


def _lost(url: str, error: BaseException) -> StoreError:
    return StoreUnavailableError(f"{url}: the connection was lost ({_reason(error)}); {_RESUME}")


def _reason(error: BaseException) -> str:
    """The error at the root of a chain; the outer errors of the driver only say that a connection failed."""
    *_, root = _chain(error)
    return _line(str(root)) or type(root).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        # A group has one error for each server that was asked; the first represents all.
        found = found.exceptions[0] if isinstance(found, BaseExceptionGroup) else found.__cause__ or found.__context__


def _line(text: str) -> str:
    """The first line of a message, shortened, because messages of a server can contain data."""
    return (text.splitlines() or [""])[0][:200]
