"""The vectors of the samples by the local model: embedded once a run, whichever process needs them first.

That takes 15 seconds of a processor. Each test gets a copy, since a deletion removes vectors from the cache too.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from filelock import FileLock

import hlgraph
from hlgraph.models.local.load import CACHE_FILE
from hlgraph.settings import ModelSettings, Settings

SAMPLES = Path(hlgraph.__file__).parent / "samples"


def made_once(base: Path) -> Path:
    """A cache file with the vectors of the samples.

    Parameters
    ----------
    base : temporary folder of this process of the run
    """
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    done, unfinished = run / "sample-vectors", run / "sample-vectors.new"
    with FileLock(run / "sample-vectors.lock"):
        if not done.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            settings = Settings(store=f"hlgraph://{unfinished}/store", models=ModelSettings(cache=str(unfinished)))
            with hlgraph.connect(settings) as graph:
                graph.ingest([SAMPLES])
            unfinished.rename(done)
    return done / CACHE_FILE


def copied(vectors: Path, folder: Path) -> str:
    """A new cache folder that has these vectors, for ``HLGRAPH_CACHE``.

    Parameters
    ----------
    vectors : the file of :func:`made_once`
    folder : the folder to make
    """
    folder.mkdir(parents=True)
    shutil.copy(vectors, folder / CACHE_FILE)
    return str(folder)
