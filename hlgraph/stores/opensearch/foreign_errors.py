"""Translates refusals of OpenSearch and errors of its client into errors of hlgraph with a remedy, in one place."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator

from hlgraph.errors import (
    HLGraphError,
    MissingExtraError,
    ModelMismatchError,
    StoreClosedError,
    StoreError,
    StoreUnavailableError,
)
from hlgraph.stores.opensearch.wire import Cause


class IndexMovedError(StoreUnavailableError):
    """The index of a corpus is being moved to another one, or was: look it up, and write again."""


class FormRefusedError(StoreError):
    """A body in Smile was refused: send it as JSON."""


_CLOSING = (
    StoreError,
    OSError,
    BufferError,
    AttributeError,
    ValueError,
    TypeError,
    LookupError,
    AssertionError,
    RuntimeError,
)
"""What a request ends with if another thread closes its connection meanwhile."""


@contextlib.contextmanager
def mapped(url: str, *, is_closed: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Raises errors of opensearch-py in a block as hlgraph errors that name the server and the remedy.

    Parameters
    ----------
    url : URL of the server
    is_closed : whether the connection was closed: then every error is a StoreClosedError
    """
    try:
        with _mapped(url):
            yield
    except _CLOSING as error:
        if is_closed():
            raise closed(url) from error
        raise


def closed(url: str) -> StoreClosedError:
    """The error of a request after, or during, the closing of the store."""
    return StoreClosedError(f"{url}: the store was closed; open it again")


def unanswered(url: str, *, seconds: float, reason: str) -> StoreUnavailableError:
    """The error of a read whose deadline is over.

    Parameters
    ----------
    url : URL of the server
    seconds : the deadline
    reason : what happened last
    """
    return StoreUnavailableError(
        f"{url}: no answer from OpenSearch within {seconds:g} s ({reason}); start the server, or check the network and its "
        "load, and ask again; opensearch.read_seconds sets how long a search waits"
    )


@contextlib.contextmanager
def _mapped(url: str) -> Iterator[None]:
    try:
        from opensearchpy import exceptions
    except ImportError as error:
        raise MissingExtraError("opensearch", "a vector store in OpenSearch") from error
    try:
        yield
    except exceptions.SSLError as error:
        if is_lost(error):
            raise _away(url, error) from error
        raise StoreError(
            f"{url}: the certificate of the server is not trusted or the connection is not encrypted ({reason_of(error)}); "
            "set opensearch.ca to the file of the certificate authority, or correct https:// in the URL"
        ) from error
    except exceptions.ConnectionTimeout as error:
        raise StoreUnavailableError(
            f"{url}: no answer in time; check the load of the server, or raise opensearch.timeout, and run the same "
            "command again; it continues where it stopped"
        ) from error
    except exceptions.ConnectionError as error:
        raise _away(url, error) from error
    except exceptions.TransportError as error:
        raise StoreError(f"{url}: {error.error}") from error


def _away(url: str, error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"{url}: the server cannot be reached ({reason_of(error)}); start it, or correct the URL, and run the same "
        "command again; it continues where it stopped"
    )


def is_lost(error: Exception) -> bool:
    """Whether a connection ended, also in the middle of its encryption; False: its encryption or certificate is wrong."""
    found: BaseException | None = getattr(error, "info", error)
    while found is not None and not isinstance(found, ssl.SSLError):
        found = found.__cause__ or found.__context__
    return found is None or isinstance(found, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError)


def reason_of(error: Exception) -> str:
    """The message of a network error, without the address of a Python object."""
    inner = getattr(error, "info", None)
    text = str(inner if isinstance(inner, Exception) else error)
    return text.rpartition(">: ")[2] or text


def refusal(url: str, status: int, *, cause: Cause | str) -> HLGraphError:
    """The hlgraph error for a refusal.

    A blocked index is reported as 403 or 429, depending on the version, so it is recognised by its type.

    Parameters
    ----------
    url : URL of the server
    status : HTTP status
    cause : reason that the server gave
    """
    words = cause.words() if isinstance(cause, Cause) else cause
    words = words[:2_000] or f"status {status}"
    for is_it, kind, meaning in _MEANINGS:
        if is_it(status, words):
            return kind(f"{url}: {meaning.format(status=status, words=words)}")
    return StoreError(f"{url}: the server refused ({status}: {words}); run: hlgraph doctor")


def _says(*parts: str) -> Callable[[int, str], bool]:
    return lambda _, words: any(part in words for part in parts)


_MEANINGS: tuple[tuple[Callable[[int, str], bool], type[HLGraphError], str], ...] = (
    (
        lambda status, _: status == 401,
        StoreError,
        "user or password is wrong (401); set opensearch.user and opensearch.password, or HLGRAPH_OPENSEARCH_USER and "
        "HLGRAPH_OPENSEARCH_PASSWORD",
    ),
    (
        _says("FORBIDDEN/8/"),
        IndexMovedError,
        "the index takes no writes ({words}); it is being re-indexed, or was when a migration was killed: wait for the "
        "migration, or run hlgraph migrate apply and hlgraph migrate repair, and run the same command again; it continues "
        "where it stopped",
    ),
    (
        lambda status, words: status < 500 and "cluster_block_exception" in words,
        StoreUnavailableError,
        "the index is read-only ({words}); free some disk space on the server (it sets this block at the flood stage), "
        "lift index.blocks.read_only_allow_delete, and run the same command again; it continues where it stopped",
    ),
    (
        lambda status, _: status == 403,
        StoreError,
        "not allowed (403: {words}); give the user or role the rights to read, write, create and delete the indexes that "
        "start with opensearch.prefix",
    ),
    (
        _says(
            "unknown setting [index.knn]",
            "No handler for type [knn",
            "unknown query [knn]",
            "script_lang not supported [knn]",
        ),
        StoreError,
        "the k-NN plugin is missing ({words}); install it on every node (opensearch-plugin install opensearch-knn) and "
        "restart, or use a distribution of OpenSearch that has it",
    ),
    (
        _says("Vector dimension mismatch", "invalid dimension", "does not match the expected length"),
        ModelMismatchError,
        "the vectors have other dimensions than those of the index ({words}); use the embedding model of the corpus, or "
        "another corpus",
    ),
    (
        _says("routing_missing_exception", "dynamic introduction of [corpus]"),
        IndexMovedError,
        "the index was re-indexed meanwhile ({words}); run the same command again; it continues where it stopped",
    ),
    (
        _says("maximum shards open"),
        StoreError,
        "no index can be created ({words}); set opensearch.layout to shared and run hlgraph migrate repair, so that corpora "
        "share indexes, delete unneeded corpora, add a node, or raise cluster.max_shards_per_node",
    ),
    (
        lambda status, _: status == 429 or status >= 500,
        StoreUnavailableError,
        "the server is overloaded or not ready ({status}: {words}); wait, or give it more memory, and run the same command "
        "again; it continues where it stopped",
    ),
)
