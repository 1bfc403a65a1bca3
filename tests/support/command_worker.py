"""Runs a command line with models that need no download, in small changes, or a script, in a process that can be killed.

Such a process is forked from one that has imported hlgraph: an interpreter of its own imports for more than a second.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest import mock

from chat_server import Asked, good_reply
from command_line import call

from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import Remover
from hlgraph.models import choose
from hlgraph.models.cache import CachedEmbedder, cache_file
from hlgraph.models.choose import ChosenModels
from hlgraph.models.protocols import Embedder
from hlgraph.stores.open import Opened
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

Patch = Callable[[Any, str, Any], None]
"""Sets an attribute: ``setattr``, or ``monkeypatch.setattr``."""

BROKEN = "HLGRAPH_TEST_BROKEN"
"""The variable that names a word: the chat model says nonsense of texts that hold it."""
TEXTS = {
    "abbey": "The Saint Orne Abbey was built in Tessing in 1820. Mara Quill left Saint-Orne Abbey in 1850.",
    "bridge": "Mara Quill designed the Aldane Bridge in 1868. The Aldane Bridge spans the Orne.",
    "flood": "The Orne flooded Quarrick in 1871. Sela Vantongeren wrote about Quarrick.",
    "mill": "Ivo Brandt owned the Vessel Mill. The Vessel Mill lies on the Orne.",
    "town": "Tessing lies on the Orne. Mara Quill was born in Tessing.",
}
"""Documents for the commands."""


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "command_worker",
        "hlgraph.extract.chat",
        "hlgraph.ingest.bulk_load",
        "hlgraph.ingest.delete",
        "hlgraph.ingest.plan",
        "hlgraph.ingest.receipts",
        "hlgraph.ingest.run",
        "hlgraph.models.langchain",
        "hlgraph.sdk.client",
        "hlgraph.sdk.communities",
        "hlgraph.sdk.domain",
        "hlgraph.sdk.failures",
        "hlgraph.sdk.merges",
        "hlgraph.sdk.reconcile",
        "hlgraph.stores.embedded.backup",
        "hlgraph.stores.embedded.doctor",
        "hlgraph.stores.embedded.graph",
        "hlgraph.stores.embedded.images",
        "hlgraph.stores.embedded.vectors",
        "hlgraph.stores.neo4j.doctor",
        "hlgraph.stores.neo4j.graph",
        "hlgraph.stores.opensearch.vectors",
        "langchain_openai",
        "openai.resources.chat",
    ]
)


def start(target: Callable[..., object], *arguments: object) -> BaseProcess:
    """A process that calls a function of a module of this folder."""
    process = _FORKS.Process(target=target, args=arguments)
    # Before Python 3.14 the server that forks knows none of the folders of this process: it would import nothing of them, and
    # each fork would.
    with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()
    process.start()
    return process


def start_script(source: str, *arguments: object, out: Path | None = None, errors: Path | None = None) -> BaseProcess:
    """A process that runs a script, as ``python -c`` does, with the environment of now.

    Parameters
    ----------
    source : text of the script
    arguments : what follows the name of the script in ``sys.argv``
    out : file for what it prints
    errors : file for what it writes to standard error
    """
    return start(_run_script, source, [str(item) for item in arguments], (out, errors), dict(os.environ))


def _run_script(
    source: str, arguments: Sequence[str], files: tuple[Path | None, Path | None], environment: Mapping[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    with contextlib.ExitStack() as redirected:
        for file, redirect in zip(files, (contextlib.redirect_stdout, contextlib.redirect_stderr), strict=True):
            if file is not None:
                redirected.enter_context(redirect(redirected.enter_context(file.open("w", encoding="utf-8"))))
        exec(compile(source, "script", "exec"), {"__name__": "__main__"})  # noqa: S102 - a script of a test


def models(patch: Patch) -> None:
    """Words as vectors, kept in the embedding cache; a chat model that extracts by rules; few sources in a change."""

    def embedder(chosen: ChosenModels) -> Embedder:
        if chosen._embedder is None:
            cached = CachedEmbedder(WordEmbedder(), cache_file(os.environ["HLGRAPH_CACHE"]))
            chosen._closing.callback(cached.close)
            chosen._embedder = cached
        return chosen._embedder

    def other(name: object, _: object) -> tuple[Embedder, CachedEmbedder]:
        cached = CachedEmbedder(WordEmbedder(48, name=str(name)), cache_file(os.environ["HLGRAPH_CACHE"]))
        return cached, cached

    patch(ChosenModels, "embedder", property(embedder))
    patch(choose, "chosen_embedder", other)
    patch(ChosenModels, "chat", property(lambda _: ScriptedChat(_reply, name="openai:m")))
    patch(pipeline, "BATCH_CHARACTERS", 200)
    patch(Remover.__new__, "__defaults__", (2, None, None, None))
    patch(Opened.__new__, "__defaults__", (2, *(Opened.__new__.__defaults__ or ())[1:]))


def _reply(system: str, user: str) -> str:
    word = os.environ.get(BROKEN, "")
    return "I would rather not." if word and word in user else good_reply(Asked(system, user))


def run(arguments: Sequence[str], kill_at: int, environment: Mapping[str, str]) -> None:
    """A command in a process of its own, which ends at this moment.

    The process is forked from one that another test may have started: it has the environment of that time.
    """
    os.environ.clear()
    os.environ.update(environment)
    models(setattr)
    moments = Moments(kill_at)
    moments.arm(setattr)
    code, _, errors = call(*arguments)
    moments.pass_one()  # all is done, and nobody was told
    raise SystemExit(f"{errors} (exit code {code}: {moments.count} moments, not {kill_at})")


class Moments:
    """Counts the moments at which something durable has just happened or is about to.

    The process ends at moment ``kill_at``, counted from 1, as ``kill -9`` or another signal ends it; 0 is none.
    """

    def __init__(self, kill_at: int = 0, *, by: signal.Signals = signal.SIGKILL) -> None:
        self.count = 0
        self._kill_at, self._by = kill_at, by

    def pass_one(self) -> None:
        self.count += 1
        if self.count == self._kill_at:
            os.kill(os.getpid(), self._by)

    def arm(self, patch: Patch) -> None:
        """Before and after each transaction, each write of vectors, of a backup, and of the files beside a store."""
        from hlgraph.extract.quarantine import Quarantine
        from hlgraph.ingest import receipts
        from hlgraph.models.sqlite_file import DiskFile
        from hlgraph.stores.embedded import backup, mirror, vector_files
        from hlgraph.stores.embedded.database import Database
        from hlgraph.stores.embedded.migrations import SqliteTarget

        for owner, name in ((Database, "transaction"), (SqliteTarget, "lock")):
            patch(owner, name, self._around(getattr(owner, name)))
        for owner, names in (
            (vector_files, ("write_rows", "zero_rows")),
            (mirror.Mirror, ("_write", "_cut", "_tidy")),
            (mirror._Previous, ("save", "drop")),
            (mirror, ("_unpack",)),
            (mirror.files, ("sync_folder",)),
            (backup, ("_exchange",)),
            (backup.shutil, ("rmtree",)),
            (DiskFile, ("attempt",)),
            (Quarantine, ("keep", "release")),
            (receipts, ("_write",)),
        ):
            for name in names:
                patch(owner, name, self._both(getattr(owner, name)))

    def _both(self, real: Callable[..., object]) -> Callable[..., object]:
        @wraps(real)
        def call(*args: object, **named: object) -> object:
            self.pass_one()
            result = real(*args, **named)
            self.pass_one()
            return result

        return call

    def _around(self, real: Callable[..., AbstractContextManager[object]]) -> Callable[..., object]:
        @wraps(real)
        @contextmanager
        def around(*args: object) -> Iterator[object]:
            self.pass_one()
            try:
                with real(*args) as value:
                    yield value
            finally:
                self.pass_one()

        return around
