"""Runs a command line with models that need no download, in small changes; a process of its own can be killed at any moment."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Mapping, Sequence

from chat_server import Asked, good_reply
from kill_moments import Moments, Patch

from hlgraph.cli import main
from hlgraph.ingest import pipeline
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.choose import ChosenModels
from hlgraph.models.local.load import cache_file
from hlgraph.models.protocols import Embedder
from hlgraph.stores.open import Opened
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

BROKEN = "HLGRAPH_TEST_BROKEN"
"""The variable that names a word: the chat model says nonsense of texts that hold it."""


def models(patch: Patch) -> None:
    """Words as vectors, kept in the embedding cache; a chat model that extracts by rules; few sources in a change."""

    def embedder(chosen: ChosenModels) -> Embedder:
        if chosen._embedder is None:
            cached = CachedEmbedder(WordEmbedder(), cache_file(os.environ["HLGRAPH_CACHE"]))
            chosen._closing.callback(cached.close)
            chosen._embedder = cached
        return chosen._embedder

    patch(ChosenModels, "embedder", property(embedder))
    patch(ChosenModels, "chat", property(lambda _: ScriptedChat(_reply, name="openai:m")))
    patch(pipeline, "BATCH_CHARACTERS", 200)
    patch(Opened.__new__, "__defaults__", (2, *(Opened.__new__.__defaults__ or ())[1:]))


def _reply(system: str, user: str) -> str:
    word = os.environ.get(BROKEN, "")
    return "I would rather not." if word and word in user else good_reply(Asked(system, user))


def call(arguments: Sequence[str]) -> tuple[int, str, str]:
    """The exit code, the output and the errors of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as end:
            return int(end.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("a command ends with an exit code")


def run(arguments: Sequence[str], kill_at: int, environment: Mapping[str, str]) -> None:
    """A command in a process of its own, which ends at this moment.

    The process is forked from one that another test may have started: it has the environment of that time.
    """
    os.environ.clear()
    os.environ.update(environment)
    models(setattr)
    moments = Moments(kill_at)
    moments.arm(setattr)
    code, _, errors = call(arguments)
    moments.pass_one()  # all is done, and nobody was told
    raise SystemExit(f"{errors} (exit code {code}: {moments.count} moments, not {kill_at})")
