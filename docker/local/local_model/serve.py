"""The process of the model: serves it on a free port of the loopback interface, until it is ended."""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path

CONTEXT = 8192
ADDRESS = "address"


def main(installed: str, weights: str, state: str) -> None:
    """Serves the weights with the library in ``installed``; writes the address to the state folder once it answers.

    One thread computes: two that wait for each other take a multiple of its time where other processes have the cores.
    Replies are greedy, so that the same request has the same reply.
    """
    sys.path.insert(0, installed)
    library = importlib.import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = weights
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.warmup = False
    params.sampling.temp = 0.0
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = 1
    server = library.Server(params)
    aside = Path(state) / f".{ADDRESS}.{os.getpid()}"
    aside.write_text(server.listening_address, encoding="utf-8")
    aside.replace(Path(state) / ADDRESS)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
