"""Applies the migrations of OpenSearch in processes that are killed after a chosen request.

Settings come as JSON in the first line of standard input. Every further line is a regular expression: a child applies the
migrations, and kills itself with SIGKILL after the first request that matches. The answer is the signal that ended it, or 0.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import Any

from hlgraph.settings import OpenSearchSettings
from hlgraph.stores import migrate
from hlgraph.stores.opensearch import migrations, writes
from hlgraph.stores.opensearch.connection import Answer, Connection


class Mortal(Connection):
    """A connection whose process dies after a request."""

    last = re.compile("")

    def send(self, method: str, path: str, **more: Any) -> Answer:
        found = super().send(method, path, **more)
        if self.last.search(f"{method} {path} {more.get('body')}"):
            os.kill(os.getpid(), signal.SIGKILL)
        return found


def tell(text: str) -> None:
    """Writes a line to the process that waits for it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """One child a line."""
    given = json.loads(sys.stdin.readline())
    migrations._LEASE_SECONDS = 0.0  # the lock of a killed process would be waited for
    migrations.OpenSearchTarget._try = lambda *_: None  # type: ignore[method-assign]
    migrations._PAGE = migrations._BLOCK = 40
    writes.BODY_BYTES = 8_000
    tell("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            mortal = Mortal(given["url"], OpenSearchSettings(**given["settings"]))
            mortal.last = re.compile(line.strip())
            migrate.apply(migrations.OpenSearchTarget(mortal))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        tell(str(os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)))


if __name__ == "__main__":
    main()
