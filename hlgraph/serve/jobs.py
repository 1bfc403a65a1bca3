"""Jobs of the server: ingests that go on behind an answer, and cannot vanish.

A job and all that it needs are on disk before its id is given away. One process of a server runs the jobs, whichever has the
lock. If it is killed, the next one to get the lock begins its jobs again, which changes nothing twice. A job that cannot be begun
again is ``interrupted``, with the mend.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import filelock
import msgspec

from hlgraph.errors import BusyError, HLGraphError, InputError, StoreUnavailableError, UnknownNameError
from hlgraph.progress import Progress
from hlgraph.serve.access import StateFile, now, stored_at
from hlgraph.serve.shapes import Job, Problem, problem_of
from hlgraph.stores import files

_log = logging.getLogger(__name__)
_ATTEMPTS: Final = 3
_KEPT: Final = 1_000  # jobs that are over
_ONCE_SECONDS: Final = 86_400.0
_NOTE_SECONDS: Final = 0.3  # between two notes of the progress of a job
_STOP_SECONDS: Final = 5.0  # that the jobs have to end when the server stops
_LOOK_SECONDS: Final = 0.5  # between two looks for jobs of other processes
_TRIM_SECONDS: Final = 10.0  # between two times that freed memory is given back
_COLUMNS = "id, corpus, state, created, updated, attempts, progress, report, problem"


class Once(NamedTuple):
    """A write that its caller may repeat: who asks, the ``Idempotency-Key``, and the hash of the request."""

    owner: str
    key: str
    fingerprint: str


class Replayed(NamedTuple):
    """The answer that a write had the first time."""

    status: int
    body: bytes


class _CancelledError(Exception):
    """The caller cancelled the job."""


class _StoppedError(Exception):
    """The server stops; the job begins again when it starts."""


class JobList:
    """The jobs of a server, in its state.

    Parameters
    ----------
    state : the file of the state
    """

    def __init__(self, state: StateFile) -> None:
        self._state = state
        self._folder = state.folder / "jobs"
        self._process = uuid.uuid4().hex
        self._incoming = state.folder / "incoming"
        self._alive: filelock.BaseFileLock | None = None
        self.wake = threading.Event()

    # Files of requests

    def begin(self) -> None:
        """Mark this process as alive, and remove what killed processes left of their requests."""
        with stored_at(self._incoming):
            files.make_folder(self._incoming / self._process)
            files.make_folder(self._folder)
            self._alive = filelock.FileLock(self._incoming / f"{self._process}.lock", mode=files.FILE)
            self._alive.acquire()
        for path in self._incoming.glob("*.lock"):
            if path.stem == self._process:
                continue
            lock = filelock.FileLock(path, mode=files.FILE)
            with contextlib.suppress(filelock.Timeout), lock.acquire(blocking=False):
                self._forget(path.stem)

    def end(self) -> None:
        """Remove what this process left of its requests."""
        if self._alive is not None:
            self._alive.release()
            self._alive = None
            self._forget(self._process)

    def _forget(self, process: str) -> None:
        shutil.rmtree(self._incoming / process, ignore_errors=True)
        with self._state.writing() as connection:
            connection.execute("DELETE FROM done_once WHERE process = ? AND status IS NULL", (process,))
        (self._incoming / f"{process}.lock").unlink(missing_ok=True)

    @contextlib.contextmanager
    def incoming(self) -> Iterator[Path]:
        """A folder for the files of one request. What :meth:`start` has not taken is removed with it."""
        folder = self._incoming / self._process / uuid.uuid4().hex
        with stored_at(folder):
            files.make_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # Writes that may be repeated

    def once(self, once: Once) -> Replayed | None:
        """The answer of an earlier request with this key; None: this is the first, and :meth:`settle` or :meth:`forget` ends it.

        Raises
        ------
        InputError : the key was used for another request
        BusyError : the first request is still under way
        """
        with self._state.writing() as connection:
            connection.execute("DELETE FROM done_once WHERE at < ?", (time.time() - _ONCE_SECONDS,))
            row = connection.execute(
                "SELECT fingerprint, status, body FROM done_once WHERE owner = ? AND key = ?", (once.owner, once.key)
            ).fetchone()
            if row is None:
                values = (once.owner, once.key, once.fingerprint, self._process, time.time())
                connection.execute("INSERT INTO done_once VALUES (?, ?, ?, ?, NULL, NULL, ?)", values)
                return None
        if row[0] != once.fingerprint:
            raise InputError("this Idempotency-Key was used for another request; choose a new one for each request")
        if row[1] is None:
            raise BusyError("the first request with this Idempotency-Key is still under way; repeat it later")
        return Replayed(row[1], row[2])

    def settle(self, once: Once, replayed: Replayed) -> None:
        """Keep the answer of a write for a day.

        Parameters
        ----------
        once : the write
        replayed : its answer
        """
        with self._state.writing() as connection:
            _settle(connection, once, replayed)

    def forget(self, once: Once) -> None:
        """Forget a write that failed, so that it can be repeated."""
        with self._state.writing() as connection:
            connection.execute(
                "DELETE FROM done_once WHERE owner = ? AND key = ? AND status IS NULL", (once.owner, once.key)
            )

    # Jobs

    def start(
        self, corpus: str, folder: Path, *, owner: str, about: Mapping[str, Any], once: Once | None = None
    ) -> Job:
        """Store a job; it is on disk when this returns.

        Parameters
        ----------
        corpus : corpus that it writes to
        folder : its files, which move to the folder of the job
        owner : who asks
        about : what the job needs besides the files
        once : the write that it belongs to

        Returns
        -------
        Job
        """
        at, identity = now(), uuid.uuid4().hex
        job = Job(id=identity, corpus=corpus, state="queued", created=at, updated=at)
        with stored_at(folder):
            for path in folder.rglob("*"):
                if path.is_file():
                    files.sync(path)
        with self._state.writing() as connection:
            connection.execute(
                "INSERT INTO job (id, corpus, owner, state, request, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (identity, corpus, owner, "queued", json.dumps(about), at, at),
            )
            if once is not None:
                _settle(connection, once, Replayed(202, msgspec.json.encode(job)))
            folder.rename(self._folder / identity)
            files.sync_folder(self._folder)
        self.wake.set()
        return job

    def find(self, id: str) -> Job | None:  # noqa: A002
        """The job of an id; None if there is none."""
        with self._state.reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM job WHERE id = ?", (id,)).fetchone()  # noqa: S608
        return None if row is None else _job(row)

    def owner(self, id: str) -> str:  # noqa: A002
        """Who started a job; empty for an unknown one."""
        with self._state.reading() as connection:
            row = connection.execute("SELECT owner FROM job WHERE id = ?", (id,)).fetchone()
        return str(row[0]) if row else ""

    def list(self, corpus: str, *, owner: str | None, limit: int) -> tuple[Job, ...]:
        """The jobs of a corpus, the newest first.

        Parameters
        ----------
        corpus : the corpus
        owner : only those that this caller started; None: all
        limit : at most this many
        """
        query = f"SELECT {_COLUMNS} FROM job WHERE corpus = ? AND (? IS NULL OR owner = ?) ORDER BY rowid DESC LIMIT ?"  # noqa: S608
        with self._state.reading() as connection:
            return tuple(map(_job, connection.execute(query, (corpus, owner, owner, limit)).fetchall()))

    def cancel(self, id: str) -> None:  # noqa: A002
        """Cancel a job: a queued one at once, a running one with its next progress, one that is over not at all."""
        with self._state.writing() as connection:
            connection.execute("UPDATE job SET is_cancelled = 1 WHERE id = ?", (id,))
            changed = connection.execute(
                "UPDATE job SET state = 'cancelled', updated = ? WHERE id = ? AND state = 'queued'", (now(), id)
            ).rowcount
        if changed:
            shutil.rmtree(self._folder / id, ignore_errors=True)

    # The runner's side

    def recover(self) -> None:
        """Queue the jobs of a killed process again, name those that cannot go on, and remove folders that no job has."""
        mend = "send what it was given again: the server was killed while it ran"
        with self._state.writing() as connection:
            rows = connection.execute("SELECT id, attempts FROM job WHERE state = 'running'").fetchall()
            for identity, attempts in rows:
                if attempts < _ATTEMPTS and (self._folder / identity).is_dir():
                    connection.execute("UPDATE job SET state = 'queued', updated = ? WHERE id = ?", (now(), identity))
                    continue
                problem = Problem(
                    type="urn:hlgraph:error:interrupted",
                    title="The job was interrupted",
                    status=500,
                    detail=f"the server was killed {attempts} times while the job ran; {mend}",
                    mend=mend,
                    retryable=True,
                )
                _finish(connection, identity, "interrupted", problem=json.dumps(problem.to_tree()))
            open_ = {row[0] for row in connection.execute("SELECT id FROM job WHERE state = 'queued'")}
            for path in self._folder.iterdir():
                if path.name not in open_:
                    shutil.rmtree(path, ignore_errors=True)

    def claim(self, busy: set[str]) -> tuple[Job, Path] | None:
        """The oldest queued job of a corpus that is not busy, now running, and its folder."""
        with self._state.writing() as connection:
            rows = connection.execute("SELECT id, corpus FROM job WHERE state = 'queued' ORDER BY rowid").fetchall()
            identity = next((identity for identity, corpus in rows if corpus not in busy), None)
            if identity is None:
                return None
            connection.execute(
                "UPDATE job SET state = 'running', attempts = attempts + 1, updated = ? WHERE id = ?", (now(), identity)
            )
        job = self.find(identity)
        return None if job is None else (job, self._folder / identity)

    def about(self, id: str) -> dict[str, Any]:  # noqa: A002
        """What a job needs besides its files."""
        with self._state.reading() as connection:
            (text,) = connection.execute("SELECT request FROM job WHERE id = ?", (id,)).fetchone()
        about: dict[str, Any] = json.loads(text)
        return about

    def note(self, id: str, progress: Progress) -> bool:  # noqa: A002
        """Store the progress of a running job; return whether it is cancelled.

        Parameters
        ----------
        id : of the job
        progress : its progress
        """
        text = msgspec.json.encode(progress).decode()
        with self._state.writing() as connection:
            connection.execute("UPDATE job SET progress = ?, updated = ? WHERE id = ?", (text, now(), id))
            return bool(connection.execute("SELECT is_cancelled FROM job WHERE id = ?", (id,)).fetchone()[0])

    def finish(self, id: str, state: str, **values: Mapping[str, Any]) -> None:  # noqa: A002
        """Store the end of a job, and remove its files.

        Parameters
        ----------
        id : of the job
        state : its last state, or ``queued`` to begin it again, with its files
        values : its ``report`` or its ``problem``
        """
        with self._state.writing() as connection:
            _finish(
                connection, id, state, **{name: msgspec.json.encode(tree).decode() for name, tree in values.items()}
            )
            if state == "queued":
                connection.execute("UPDATE job SET attempts = MAX(attempts - 1, 0) WHERE id = ?", (id,))
        if state != "queued":
            shutil.rmtree(self._folder / id, ignore_errors=True)

    def put_back(self) -> None:
        """Queue the running jobs again, which the end of this process will interrupt."""
        with self._state.writing() as connection:
            connection.execute(
                "UPDATE job SET state = 'queued', attempts = MAX(attempts - 1, 0) WHERE state = 'running'"
            )

    @property
    def lock(self) -> filelock.BaseFileLock:
        """The lock of the process that runs the jobs."""
        return filelock.FileLock(self._state.folder / "runner.lock", mode=files.FILE)


def _settle(connection: sqlite3.Connection, once: Once, replayed: Replayed) -> None:
    connection.execute(
        "UPDATE done_once SET status = ?, body = ? WHERE owner = ? AND key = ?", (*replayed, once.owner, once.key)
    )


def _finish(connection: sqlite3.Connection, id: str, state: str, **texts: str) -> None:  # noqa: A002
    connection.execute(
        "UPDATE job SET state = ?, updated = ?, report = ?, problem = ? WHERE id = ?",
        (state, now(), texts.get("report"), texts.get("problem"), id),
    )
    connection.execute(
        "DELETE FROM job WHERE state NOT IN ('queued', 'running') AND rowid <= "
        "(SELECT rowid FROM job ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
        (_KEPT,),
    )


def _job(row: tuple[Any, ...]) -> Job:
    names = [name.strip() for name in _COLUMNS.split(",")]
    trees = ("progress", "report", "problem")
    tree = {
        name: json.loads(value) if name in trees and value else value for name, value in zip(names, row, strict=True)
    }
    return msgspec.convert(tree, Job)


class Runner(threading.Thread):
    """Runs the jobs of a server, if no other process does.

    Parameters
    ----------
    jobs : the jobs
    run : does the work of one, see :meth:`hlgraph.serve.service.Ingests.run_job`
    lanes : jobs that run at once, each in a corpus of its own
    """

    def __init__(self, jobs: JobList, run: Callable[..., Mapping[str, Any]], *, lanes: int) -> None:
        super().__init__(name="hlgraph-jobs", daemon=True)
        self._jobs = jobs
        self._work = run
        self._lanes = lanes
        self._stopping = threading.Event()
        self._busy: dict[str, threading.Thread] = {}
        self._trimmed = 0.0

    def run(self) -> None:
        """Wait for the lock, then run jobs until :meth:`stop`."""
        lock = self._jobs.lock
        while not self._stopping.is_set():
            try:
                lock.acquire(blocking=False)
            except OSError as error:
                if not isinstance(error, filelock.Timeout):  # with which another process runs the jobs
                    _log.warning("jobs wait: %s", error)
                self._stopping.wait(_LOOK_SECONDS)
                continue
            try:
                self._jobs.recover()
                self._run_jobs()
            except StoreUnavailableError as error:
                _log.warning("jobs wait: %s", error)
                self._stopping.wait(_LOOK_SECONDS)
            finally:
                lock.release()

    def stop(self) -> bool:
        """End after the present progress of the running jobs, which begin again with the next start.

        Returns
        -------
        bool
            False if a job goes on after some seconds, because it waits for its store.
        """
        self._stopping.set()
        self._jobs.wake.set()
        self.join(_STOP_SECONDS)
        if self.is_alive() and self._busy:
            _log.warning("a job waits for its store; it begins again with the next start")
            with contextlib.suppress(StoreUnavailableError):
                self._jobs.put_back()
        return not self.is_alive()

    def _run_jobs(self) -> None:
        while not self._stopping.is_set():
            self._busy = {corpus: thread for corpus, thread in self._busy.items() if thread.is_alive()}
            self._jobs.wake.clear()
            try:
                claimed = self._jobs.claim(set(self._busy)) if len(self._busy) < self._lanes else None
            except HLGraphError as error:
                _log.warning("jobs wait: %s", error)
                claimed = None
            if claimed is None:
                self._jobs.wake.wait(_LOOK_SECONDS)
                continue
            thread = threading.Thread(
                target=self._one, args=claimed, name=f"hlgraph-job-{claimed[0].id[:8]}", daemon=True
            )
            self._busy[claimed[0].corpus] = thread
            thread.start()
        for thread in self._busy.values():
            thread.join()

    def _one(self, job: Job, folder: Path) -> None:
        """Run one job to its end."""
        last = 0.0

        def on_progress(event: Progress) -> None:
            nonlocal last
            if self._stopping.is_set():
                raise _StoppedError
            if time.monotonic() - last < _NOTE_SECONDS:
                return
            last = time.monotonic()
            with contextlib.suppress(StoreUnavailableError):  # a full disk, which the end of the job waits for
                if self._jobs.note(job.id, event):
                    raise _CancelledError

        try:
            report = self._work(job, folder, on_progress=on_progress)
        except _CancelledError:
            self._finish(job, "cancelled")
        except _StoppedError:
            self._finish(job, "queued")
        except HLGraphError as error:
            if self._stopping.is_set() and error.retryable:
                self._finish(job, "queued")
            else:
                self._finish(job, "failed", problem=problem_of(error, operates=True).to_tree())
        except Exception as error:
            self._finish(job, "failed", problem=problem_of(error).to_tree())
            raise
        else:
            self._finish(job, "done", report=report)
        finally:
            self._jobs.wake.set()
            self._trim()

    def _trim(self) -> None:
        """Give freed memory back to the system: glibc keeps pages between blocks that are in use, a few kilobytes an edit."""
        if time.monotonic() - self._trimmed >= _TRIM_SECONDS:
            self._trimmed = time.monotonic()
            with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
                ctypes.CDLL(None).malloc_trim(0)

    def _finish(self, job: Job, state: str, **values: Mapping[str, Any]) -> None:
        """Store the end of a job as soon as the state can be used. If the server ends before, the job begins again."""
        while True:
            try:
                self._jobs.finish(job.id, state, **values)
            except StoreUnavailableError as error:
                _log.warning("the end of a job waits: %s", error)
                if self._stopping.wait(_LOOK_SECONDS):
                    return
            else:
                return


def unknown_job(id: str) -> UnknownNameError:  # noqa: A002
    """The error for a job that does not exist, or that its asker may not see."""
    return UnknownNameError(f"there is no job {id!r}; a job is known to who started it")
