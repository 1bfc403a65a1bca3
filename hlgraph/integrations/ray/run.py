"""Run an ingest on a Ray cluster: split the sources, build the pipeline of stages, and write its results."""

from __future__ import annotations

import logging
import pickle
import uuid
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from hlgraph import progress
from hlgraph.errors import BudgetError, ClusterError, InputError, needs_extra
from hlgraph.extract.extractor import Metered
from hlgraph.ingest import pipeline
from hlgraph.ingest.options import IngestOptions
from hlgraph.ingest.pipeline import Ready
from hlgraph.ingest.report import Failure, Report
from hlgraph.integrations.ray.stages import (
    Books,
    Compare,
    Embed,
    Extract,
    FarBooks,
    Limits,
    Parcel,
    Spending,
    Work,
    cut,
    packed,
    parts,
    read,
    unpacked,
)
from hlgraph.models.accounts.budget import Usage, price_of
from hlgraph.read.discover import STDIN
from hlgraph.records import Document
from hlgraph.settings import place_of, variables

if TYPE_CHECKING:
    from hlgraph.ingest.run import Ingestion, Job
    from hlgraph.progress import OnProgress
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings


# The cluster: an existing one, or a local one started for the ingest.

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
    with needs_extra("ray", "an ingest on Ray"):
        import ray
        import ray.data
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
        id(owner): owner
        for frame, _ in walk_tb(error.__traceback__)
        if isinstance(owner := frame.f_locals.get("self"), Node)
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


_SHARE, _TASK_SHARE = 0.1, 0.5
"""CPUs that Ray reserves for a process that mostly waits, and for a task that reads or chunks."""
_QUEUED = 2
"""Parcels assigned to an actor at once: one in work, one waiting."""
_AT_ONCE = 2
"""Parcels that a process works on at once while it waits for a chat model."""


def ingest(
    graph: HLGraph | Settings,
    sources: str | Path | Document | Iterable[str | Path | Document],
    *,
    options: IngestOptions | None = None,
    workers: int = 2,
    address: str | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Ingest sources on a Ray cluster, and return the report; see :meth:`hlgraph.sdk.client.HLGraph.ingest`.

    Graph, report and errors are the same as without Ray, except that ``seconds`` of a step sums over all processes and can
    exceed the elapsed time. Paths are read on the machine of the caller. Each worker makes up to ``models.concurrency`` chat
    calls at once; the API key is read from the environment of its machine.

    Parameters
    ----------
    graph : an open graph, or its settings; models given as objects must be picklable
    sources : as in :meth:`hlgraph.sdk.client.HLGraph.ingest`, without standard input
    options : how to ingest, default ``IngestOptions()``
    workers : number of extracting processes, default 2; at most as many processes embed
    address : address of an existing cluster (``auto``, ``host:port``); default None: the cluster that this process has
        joined, else a local one for this ingest
    on_progress : called with the progress of this process: the batches that it receives and writes; default none

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    InputError
        Standard input is among the sources, which other processes cannot read, or ``workers`` is below 1.
    ClusterError
        The cluster does not start, or lost a process that cannot be restarted; the same call continues the ingest.
    """
    if workers < 1:
        raise InputError(f"workers is {workers}; choose at least 1")
    from hlgraph.sdk.client import HLGraph

    inputs = [sources] if isinstance(sources, str | Path | Document) else list(sources)
    if STDIN in inputs:
        raise InputError("other processes cannot read standard input; write it to a file, and give that file")
    if not isinstance(graph, HLGraph):
        with HLGraph(graph) as opened:
            return ingest(opened, inputs, options=options, workers=workers, address=address, on_progress=on_progress)
    ingestion = graph.ingestion
    with joined(address, workers) as ray:
        run = RayRun(ray, ingestion, workers=workers)
        report = ingestion.bring(inputs, options or IngestOptions(), run=run, on_progress=on_progress)
    if run.end is not None:
        raise run.end
    return report


class RayRun:
    """Run the steps of one ingest on the cluster that this process has joined.

    Attributes
    ----------
    end : the BudgetError if the budget ran out only after all sources had been examined, else None
    """

    def __init__(self, ray: ModuleType, ingestion: Ingestion, *, workers: int) -> None:
        self._ray = ray
        self._ingestion = ingestion
        self._workers = workers
        self.end: BudgetError | None = None

    def __call__(self, job: Job) -> Report:
        """See :class:`hlgraph.ingest.run.Run`."""
        report = Report(files=job.files)
        work = self._work(job)
        books = self._books(work, job)
        usage = Usage()
        usage.kept = _spent(job).kept
        prepared = self._prepared(job, work, books=books, report=report, usage=usage)
        try:
            pipeline.write(prepared, job.corpus, report=report, stores=job.stores, steps=job.steps)
        except self._ray.exceptions.RayTaskError:  # an unexpected error in a step, passed on unchanged
            raise
        except self._ray.exceptions.RayError as error:
            reason = str(error).partition("\n")[0]
            raise ClusterError(
                f"the cluster lost the ingest ({reason}); what was done is kept, run it again to continue"
            ) from error
        except BaseException as error:
            # The stages still run: wait for calls under way, since they are paid for.
            end = books.settled(error, 2 * self._ingestion.settings.models.timeout) if books is not None else None
            if isinstance(error, BudgetError) and end is not None:
                raise end from error
            raise
        else:
            if books is not None:
                self._account(books, usage)
                report.usage = usage
        finally:
            prepared.close()
            if books is not None:
                books.close()
        report.problems.extend(Failure("extractions", problem) for problem in job.steps.extractor.problems)
        return report

    def _account(self, books: FarBooks, usage: Usage) -> None:
        spending: Spending = books.ask("spending")
        usage.calls, usage.input_tokens, usage.output_tokens, _ = spending
        end = books.ask("ended")
        self.end = end if isinstance(end, BudgetError) else None

    def _work(self, job: Job) -> Work:
        models, is_chat = self._ingestion.models, job.options.extract == "chat"
        for model in (models.embedder_asked_for, models.chat_asked_for if is_chat else None):
            _check_sendable(self._ray, model)
        return Work(
            settings=_absolute(self._ingestion.settings),
            corpus=job.corpus,
            options=replace(
                job.options, extractions=tuple(str(Path(path).absolute()) for path in job.options.extractions)
            ),
            chat=models.chat_asked_for if is_chat else None,
            embedder=models.embedder_asked_for,
            chat_name=models.chat.fingerprint if is_chat and models.chat is not None else "",
            run=uuid.uuid4().hex,
            domain=job.domain,
        )

    def _books(self, work: Work, job: Job) -> FarBooks | None:
        if not work.chat_name:
            return None
        price = price_of(work.chat_name, work.settings.models.prices)
        spent = _spent(job)
        before = Spending(spent.calls, spent.input_tokens, spent.output_tokens, 0)
        limits = Limits(job.options.budget, price, work.chat_name, before)
        actor = self._ray.remote(Books).options(num_cpus=0, label_selector=self._here)
        return FarBooks(actor.remote(work.without_stores().settings, job.corpus, limits=limits))

    @property
    def _here(self) -> dict[str, str]:
        """The label selector for the machine of this process, where its paths are valid."""
        return {"ray.io/node-id": self._ray.get_runtime_context().get_node_id()}

    def _prepared(
        self, job: Job, work: Work, *, books: FarBooks | None, report: Report, usage: Usage
    ) -> Generator[Ready, None, None]:
        """The results of the stages, in the order of the sources."""
        most = job.steps.batch_characters
        blocks = [packed(part) for part in parts(job, report, workers=self._workers, most=most)]
        if not blocks:
            return
        for table in self._stages(blocks, work, books).iter_batches(
            batch_size=None, batch_format="pyarrow", prefetch_batches=0
        ):
            for parcel in unpacked(table, Parcel):
                report.include(parcel.report)
                progress.count(sources=parcel.report.sources_unchanged)
                job.seen.update(parcel.uris)
                for uri in parcel.uris:
                    job.files.store(uri, is_new=False)  # writing it tells that it is new
                usage.kept += parcel.kept
                usage.left_out += parcel.left_out
                if parcel.error is not None:
                    raise parcel.error
                if parcel.ready is not None:
                    yield parcel.ready

    def _stages(self, blocks: list[Any], work: Work, books: FarBooks | None) -> Any:
        """The pipeline. Reading and comparing run on this machine, which has the paths and stores; other stages run anywhere."""
        data = self._ray.data
        context = data.DataContext.get_current().copy()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.enable_auto_log_stats = False
        context.target_max_block_size = 1  # bytes: each parcel becomes a block, since it has the right size already
        here, bare = self._here, work.without_stores()
        each = {"batch_size": 1, "batch_format": "pyarrow"}
        one = data.ActorPoolStrategy(size=1, max_tasks_in_flight_per_actor=_QUEUED)
        at_once = _AT_ONCE if books is not None else 1
        all_ = data.ActorPoolStrategy(
            size=self._workers,
            max_tasks_in_flight_per_actor=at_once + 1,
            max_concurrent_calls_per_actor=at_once,
            enable_true_multi_threading=at_once > 1,
        )
        some = data.ActorPoolStrategy(min_size=1, max_size=self._workers, max_tasks_in_flight_per_actor=_QUEUED)
        tasks = {**each, "num_cpus": _TASK_SHARE}
        with data.DataContext.current(context):
            rows = data.from_blocks(blocks)
            rows = rows.map_batches(read, fn_kwargs={"work": bare}, label_selector=here, **tasks)
            rows = rows.map_batches(
                Compare, fn_constructor_args=(work,), compute=one, label_selector=here, num_cpus=_SHARE, **each
            )
            rows = rows.map_batches(cut, fn_kwargs={"work": bare}, **tasks)
            rows = rows.map_batches(
                Extract,
                fn_constructor_args=(bare, books and books.actor),
                compute=all_,
                num_cpus=_SHARE if books is not None else 1,
                **each,
            )
            return rows.map_batches(Embed, fn_constructor_args=(bare,), compute=some, num_cpus=_SHARE, **each)


def _spent(job: Job) -> Usage:
    """What this process itself has spent on the ingest before its stages begin: the call that infers a domain, if any."""
    extractor = job.steps.extractor
    return extractor.usage if isinstance(extractor, Metered) else Usage()


def _check_sendable(ray: ModuleType, model: object) -> None:
    """Raise InputError for an object that cannot be sent to other processes."""
    try:
        ray.cloudpickle.dumps(model)
    except (AttributeError, TypeError, ValueError, pickle.PicklingError) as error:
        raise InputError(
            f"{type(model).__name__} cannot be sent to other processes ({error}); give its name instead, as provider:model"
        ) from error


def _absolute(settings: Settings) -> Settings:
    """The settings with absolute paths."""
    models = settings.models
    store = f"hlgraph://{place_of(settings)}" if settings.store.startswith("hlgraph://") else settings.store
    placed = replace(
        models,
        root=_place(models.root),
        cache=_place(models.cache),
        ledger=_place(models.ledger),
        quarantine=_place(models.quarantine),
        embedder=str(Path(models.embedder).absolute()) if Path(models.embedder).is_dir() else models.embedder,
    )
    return replace(settings, store=store, models=placed)


def _place(folder: str | None) -> str | None:
    return str(Path(folder).expanduser().absolute()) if folder else folder
