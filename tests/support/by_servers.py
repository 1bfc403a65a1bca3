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
    "tests/contract/test_opensearch.py",
    "tests/congruence/test_stores.py",
    "tests/contract/test_neo4j.py",
    "tests/integration/test_small_model.py",
    "tests/integration/test_notebooks.py",
    "tests/integration/test_ray.py",
    "tests/faults/test_killed_budget_ingest.py",
    "tests/faults/test_killed_commands.py",
    "tests/integration/test_local_servers_live.py",
    "tests/faults/test_killed_chat_ingest.py",
    "tests/integration/test_pages.py",
    "tests/integration/test_cli_contract.py",
    "tests/unit/retrieve/test_retrieve.py",
)
# They change the schema, and Neo4j forgets all plans: after the others that use it.
_CHANGING = ("tests/integration/test_pages_servers.py", "tests/integration/test_neo4j_migrations.py")
# They start Neo4j again, which then plans every query anew, or wait for it: for the second process, which has less to do.
_RESTARTING = (
    "tests/congruence/test_bulk_load.py",
    "tests/faults/test_killed_servers.py",
    "tests/integration/test_neo4j_faults.py",
)
_NICENESS = 5
_FIRST = "gw0"


class ByServers(LoadScopeScheduling):  # type: ignore[misc]
    """A file runs in one process. One has Neo4j, for most files that use it; a second one OpenSearch and a Neo4j that is restarted.

    Tests wait for servers, so there are more processes than cores: while one waits, another computes. The process with Neo4j
    has the longest way, and the right to a core before the others (:func:`give_way`). Both take any other file afterwards.
    Servers that were given are for one process.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _next(self, node: WorkerController) -> str | None:
        """The file that this process begins next; None: what is left is for others."""
        takers = sorted((one for one in self.nodes if not one.shutting_down), key=lambda one: str(one.gateway.id))
        place = takers.index(node) if node in takers else len(takers)
        ranks = {file: rank for file in self.workqueue if (rank := _rank(file, place)) is not None}
        return min(ranks, key=lambda file: (ranks[file], _turn(file)), default=None)

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


def give_way() -> None:
    """Has this process, if it is one of several and not the first, leave the cores to the first, and so its children."""
    if os.environ.get("PYTEST_XDIST_WORKER", _FIRST) != _FIRST:
        os.nice(_NICENESS)


def _turn(file: str) -> int:
    """The place of a file among those of one rank."""
    return _LONGEST.index(file) if file in _LONGEST else len(_LONGEST) + (file in _CHANGING)


def _rank(file: str, place: int) -> int | None:
    """How soon a process takes a file, by the place of the process among all; None: never.

    The first can take all of them, so that none is left when it ends.
    """
    needed = "restarting" if file in _RESTARTING else servers_of(file)
    if place == 0:
        return {"neo4j": 0, "": 1, "restarting": 2, "opensearch": 3}[needed]
    if place == 1 and not os.environ.get(GIVEN):
        return {"opensearch": 0, "restarting": 1, "": 2}.get(needed)
    return None if needed else 0


@cache
def servers_of(file: str) -> str:
    """The servers that a file needs: ``neo4j`` (OpenSearch too, it may be), ``opensearch``, or none.

    A function of it takes one of the fixtures; a file that only writes of servers needs none.
    """
    parts = Path(file).parts
    if parts[0] != "tests" or parts[1] == "unit":
        return ""
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    if not re.search(r"\bdef \w+\([^)]*\b(servers|graph_server|neo4j_settings|TinyGraph|MillGraph)\b", text):
        return ""
    return "neo4j" if re.search(r"neo4j|\blive_stores\b", text) else "opensearch"
