"""The notebook that reads the graph in Cypher, on the servers of the tests, in indexes of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from notebook_runs import run_copy
from opensearch_fixture import opened, settings_of
from sample_vectors import copied

from local_servers import state


@pytest.mark.model
def test_the_tour_in_cypher_runs(servers: Any, sample_vectors: Path, tmp_path: Path) -> None:
    cache = copied(sample_vectors, tmp_path / "cache")
    index = settings_of(servers.opensearch)
    settings = state.settings(servers.neo4j, servers.opensearch)
    own = settings.replace("opensearch: {", f'opensearch: {{"prefix": "{index.prefix}", ')
    config = tmp_path / state.SETTINGS
    state.write_private(config, own)
    with opened(servers.opensearch, prefix=index.prefix):
        assert run_copy("3_cypher_tour.ipynb", tmp_path, HLGRAPH_CONFIG=str(config), HLGRAPH_CACHE=cache) == ""


@pytest.mark.model
def test_without_servers_it_says_how_to_start_them(tmp_path: Path) -> None:
    failed = run_copy("3_cypher_tour.ipynb", tmp_path)
    assert "cell 2" in failed
    assert "make servers" in failed
