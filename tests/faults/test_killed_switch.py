"""A change of the embedding model on servers is killed at a request; searches go on, and the same steps again complete it."""

from __future__ import annotations

import dataclasses
import json
import random
import signal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_worker import start_script
from live_stores import opened, settings_for
from thoroughness import cases
from two_models import NEW, OLD, QUESTIONS, documents, shown

import hlgraph
from hlgraph.testing.corpus import snapshot

# Builds a second set of vectors, makes it the current one, and drops the first. Prints the number of requests. With a number, it
# is killed before the request of that number.
_WORKER = """
import os, signal, sys
from dataclasses import replace
import hlgraph
from hlgraph.settings import load
from hlgraph.stores.neo4j.server import Transaction
from hlgraph.stores.opensearch.connection import Connection
from two_models import NEW, OLD

config, last = sys.argv[1], int(sys.argv[2])
count = 0

def counted(method):
    def call(*args, **named):
        global count
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*args, **named)
    return call

Transaction._run, Connection.send = counted(Transaction._run), counted(Connection.send)
with hlgraph.connect(replace(load(config), wait=60), embedder=OLD) as graph:
    graph._resources.models.chosen(NEW)
    if graph.stats(counts=False)[0].embedding != NEW.fingerprint:
        graph.embeddings.build(NEW)
        graph.embeddings.switch()
    graph.embeddings.drop()
print(count)
"""


class Done(NamedTuple):
    """Exit code, standard output and standard error of a worker."""

    code: int | None
    out: str
    errors: str


def _run(config: Path, last: int = 0) -> Done:
    out, errors = (config.with_name(name) for name in ("out", "errors"))
    worker = start_script(_WORKER, config, last, out=out, errors=errors)
    worker.join()
    return Done(worker.exitcode, out.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8"))


@pytest.mark.faults
def test_a_killed_switch_is_completed_by_the_same_steps(servers: Any, tmp_path: Path) -> None:
    settings, config = settings_for(servers), tmp_path / "settings.json"
    tree = dataclasses.asdict(settings)
    config.write_text(json.dumps({name: tree[name] for name in ("store", "vectors", "neo4j", "opensearch")}))
    config.chmod(0o600)
    with hlgraph.connect(f"hlgraph://{tmp_path}/pure", embedder=NEW) as pure:
        pure.ingest(documents())
        expected = [[text for text, _ in some] for some in shown(pure, ("statement", "path"))]
    whole, count, rng, kills = None, 0, random.Random(7), cases(1, 8)
    for number in range(1 + kills):
        with opened(servers, settings), hlgraph.connect(settings, embedder=OLD) as graph:
            graph._resources.models.chosen(NEW)
            graph.ingest(documents(), keep_history=True)
            if whole is not None:
                bounds = sorted(round(1 + (number - part) * (count - 1) / kills) for part in (0, 1))
                killed = _run(config, rng.randint(*bounds))
                assert killed.code == -signal.SIGKILL, killed.errors
                assert graph.search(QUESTIONS[0], strategy="statement", k=5).evidence
            done = _run(config)
            assert done.code == 0, done.errors
            assert [[text for text, _ in some] for some in shown(graph, ("statement", "path"))] == expected
            assert all(finding.is_fine for finding in graph.check())
            assert graph.reconcile()[0].is_none
            sets = graph.stats()[0].sets
            assert (sets is None, sets and sets.other) == (False, None)
            stores = graph._opened.stores
            held = [snapshot(stores, name) for name in ("default", "default@history")]
            held[1] = {kind: records for kind, records in held[1].items() if kind != "source"}  # it has the times
            if whole is None:
                whole, count = held, int(done.out)
            assert held == whole
