"""The Ray cluster of an ingest: an existing one, or a local one started for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
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
    # Workers get the priority of this process, since they do its work.
    "RAY_worker_niceness": "0",
    # Read by Ray at import. With 0 its servers listen only on the loopback interface, on Linux too.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
_LOOPBACK = "127."


def loaded() -> ModuleType:
    """The package ``ray`` with ``ray.data`` imported.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("ray", "an ingest on Ray") from error
    return cast("ModuleType", ray)


@contextmanager
def local_cluster(workers: int = 2, *, store_bytes: int = _STORE_BYTES) -> Iterator[None]:
    """A Ray cluster on this machine for the time of a ``with`` block, reachable only from this machine; for several ingests.

    It has no dashboard and sends no usage statistics.

    Parameters
    ----------
    workers : number of extracting processes per ingest, default 2
    store_bytes : shared memory for data in flight between processes, default 256 MiB; more is spilled to disk

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    InputError
        This process already uses a cluster, or Ray was imported earlier and would listen on the network.
    ClusterError
        The cluster does not start.
    """
    with variables(_ALONE):
        ray = loaded()
        if ray.is_initialized():
            raise InputError("this process already uses a Ray cluster; ingest on it, without local_cluster()")
        _start(ray, workers, store_bytes=store_bytes)
        try:
            if not ray.util.get_node_ip_address().startswith(_LOOPBACK):
                raise InputError(
                    "Ray was imported before hlgraph could restrict it to this machine; import ray after calling "
                    "local_cluster(), or start a cluster yourself with ray.init()"
                )
            yield
        finally:
            ray.shutdown()


def _start(ray: ModuleType, workers: int, *, store_bytes: int) -> None:
    """Start the cluster, with retries: Ray gives a node 30 s to start, which a busy machine may exceed."""
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
        except Exception as error:  # Ray raises a bare Exception for a node that is late
            _end(error)
            ray.shutdown()
            if not isinstance(error, ValueError) and tries_left:
                _log.info("a local Ray cluster did not start; trying again: %s", error)
                continue
            raise ClusterError(f"a local Ray cluster does not start ({error}); try again") from error
        return


def _end(error: Exception) -> None:
    """End the processes of a node that did not start: Ray loses it, and ends them with this process only."""
    from ray._private.node import Node

    nodes = {
        id(held): held
        for frame, _ in walk_tb(error.__traceback__)
        if isinstance(held := frame.f_locals.get("self"), Node)
    }
    for node in nodes.values():
        node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)


@contextmanager
def joined(address: str | None, workers: int) -> Iterator[ModuleType]:
    """The package ``ray``, connected to a cluster for the time of a ``with`` block.

    The cluster is the one that this process already uses, else the one at ``address``, else a new local one.

    Parameters
    ----------
    address : address of a cluster, or None
    workers : number of extracting processes of a local cluster

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    InputError
        Ray was imported earlier, and a local cluster would listen on the network.
    ClusterError
        There is no cluster at the address, or a local one does not start.
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
        raise ClusterError(f"no Ray cluster can be joined at {address!r} ({error}); check the address") from error
    try:
        yield ray
    finally:
        ray.shutdown()
