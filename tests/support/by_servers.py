"""The order of a run in several processes (`-n`): which of them have servers, and what is begun first."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

GIVEN = "HLGRAPH_TEST_SERVERS"
REPOSITORY = Path(__file__).parents[2]
# Begun first, so that none of them is left alone at the end.
_LONGEST = (
    "tests/integration/test_ray.py",
    "tests/faults/test_killed_servers.py",
    "tests/integration/test_neo4j_faults.py",
    "tests/integration/test_small_model.py",
    "tests/congruence/test_stores.py",
    "tests/contract/test_opensearch.py",
    "tests/faults/test_killed_budget_ingest.py",
    "tests/faults/test_killed_commands.py",
    "tests/integration/test_pages_servers.py",
    "tests/contract/test_neo4j.py",
    "tests/integration/test_local_servers_live.py",
    "tests/integration/test_notebooks.py",
    "tests/integration/test_wheel.py",
    "tests/congruence/test_rankers.py",
    "tests/integration/test_notebooks_servers.py",
    "tests/faults/test_killed_chat_ingest.py",
    "tests/integration/test_cli_contract.py",
    "tests/integration/test_pages.py",
    "tests/unit/test_retrieve.py",
)


class ByServers(LoadScopeScheduling):  # type: ignore[misc]
    """A file runs in one process. Half of the processes have a pair of servers each, and all files that use them.

    Tests wait for servers, so there are more processes than cores: while one waits, another computes. Those that have servers
    take the files that need them first and any other one afterwards. Servers that were given are one pair: one process has it.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _next(self, node: WorkerController) -> str | None:
        """The file that this process begins next; None: what is left is for others."""
        takers = [one for one in self.nodes if not one.shutting_down]
        pairs = 1 if os.environ.get(GIVEN) else max(1, self.numnodes // 2)
        has_servers = node in takers[:pairs]
        left = [file for file in self.workqueue if has_servers or not uses_servers(file)]
        places = {file: place for place, file in enumerate(_LONGEST)}
        return min(
            left, key=lambda file: (has_servers and not uses_servers(file), places.get(file, len(places))), default=None
        )

    def _assign_work_unit(self, node: WorkerController) -> None:
        file = self._next(node)
        if file is not None:
            self.workqueue.move_to_end(file, last=False)
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if not node.shutting_down and self._next(node) is None:
            node.shutdown()  # it ends after the tests that it has
            return
        super()._reschedule(node)


@cache
def uses_servers(file: str) -> bool:
    """Whether a function of the file takes one of the fixtures; a file that only writes of servers does not."""
    parts = Path(file).parts
    if parts[0] != "tests" or parts[1] == "unit":
        return False
    taken = r"\bdef \w+\([^)]*\b(servers|graph_server|neo4j_settings)\b"
    return re.search(taken, (REPOSITORY / file).read_text(encoding="utf-8")) is not None
