"""The cluster that an ingest runs on: one of this machine alone, made for it, or one that is there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

from hlgraph.errors import ClusterError, InputError, MissingExtraError
from hlgraph.settings import variables

_log = logging.getLogger(__name__)
_MIB = 1 << 20
_STORE_BYTES = 256 * _MIB
_SPARE = 2
_TRIES = 3
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_LOG_LEVEL": "ERROR"}
_ALONE = {
    **_QUIET,
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # The processes do what this one would do, so they do it with the priority that it has.
    "RAY_worker_niceness": "0",
    # Ray reads this when it is imported: off, its servers listen on the loopback interface alone, on Linux too.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
_LOOPBACK = "127."


def loaded() -> ModuleType:
    """The package ``ray`` with its data pipelines. Raises MissingExtraError where it is not installed."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("ray", "an ingest on Ray") from error
    return cast("ModuleType", ray)


@contextmanager
def local_cluster(workers: int = 2, *, store_bytes: int = _STORE_BYTES) -> Iterator[None]:
    """A cluster of processes on this machine, reached by this machine alone, ended with the block; for several ingests.

    It has no dashboard and tells nobody that it is used. What is in flight between its processes is held in ``store_bytes``
    of shared memory, and beyond it on disk.

    Parameters
    ----------
    workers : processes that extract, in one ingest

    Raises
    ------
    MissingExtraError : Ray is not installed
    InputError : a cluster is in use by this process already, or Ray was imported before and would listen on the network
    ClusterError : it does not start
    """
    with variables(_ALONE):
        ray = loaded()
        if ray.is_initialized():
            raise InputError("this process has a Ray cluster already; ingest on it, without local_cluster()")
        _start(ray, workers, store_bytes=store_bytes)
        try:
            if not ray.util.get_node_ip_address().startswith(_LOOPBACK):
                raise InputError(
                    "Ray was imported before hlgraph could tell it to stay on this machine; import ray after "
                    "local_cluster(), or start a cluster by ray.init() yourself"
                )
            yield
        finally:
            ray.shutdown()


def _start(ray: ModuleType, workers: int, *, store_bytes: int) -> None:
    """Ray gives a node half a minute to start, which a busy machine may not do at the first try."""
    for tries_left in reversed(range(_TRIES)):
        try:
            ray.init(
                address="local",
                num_cpus=workers + _SPARE,
                include_dashboard=False,
                object_store_memory=store_bytes,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # Ray raises this very class for a node that is late
            ray.shutdown()
            if not isinstance(error, ValueError) and tries_left:
                _log.info("a local cluster of Ray did not start, and is tried again: %s", error)
                continue
            raise ClusterError(f"a local cluster of Ray does not start ({error}); try again") from error
        return


@contextmanager
def joined(address: str | None, workers: int) -> Iterator[ModuleType]:
    """The package ``ray`` in a cluster: that of this process, or of an address, or a local one for the block.

    Raises what :func:`local_cluster` raises; ClusterError where there is none at the address.
    """
    with variables(_ALONE if address is None else _QUIET):
        ray = loaded()
    if ray.is_initialized():
        yield ray
        return
    if address is None:
        with local_cluster(workers):
            yield ray
        return
    try:
        with variables(_QUIET):
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, TimeoutError, ValueError) as error:
        raise ClusterError(f"no cluster of Ray can be joined at {address!r} ({error}); check the address") from error
    try:
        yield ray
    finally:
        ray.shutdown()
