"""A process that holds the right to write and does as it is told: ``python lease_holder.py URL USER DATABASE SECONDS``.

The password comes first on the standard input, then words: ``write`` checks the right in a writing transaction, ``stay``
does too and stays inside, ``end`` gives it back.
"""

from __future__ import annotations

import sys
import time

from hlgraph.errors import HLGraphError
from hlgraph.settings import Neo4jSettings
from hlgraph.stores.neo4j.lease import Lease
from hlgraph.stores.neo4j.server import Server, Transaction


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Hold the right until told to end."""
    url, user, database, seconds = sys.argv[1:5]
    password = sys.stdin.readline().strip()
    server = Server(url, Neo4jSettings(user=user, password=password, database=database, timeout=20, retry_seconds=20))
    lease = Lease(server, "writer", seconds=int(seconds))

    def stay(transaction: Transaction) -> None:
        lease.check(transaction)
        say("inside")
        time.sleep(60)

    with lease.held():
        say("held")
        for line in sys.stdin:
            if line.strip() == "end":
                break
            try:
                server.write(stay if line.strip() == "stay" else lease.check)
                say("written")
            except HLGraphError as error:
                say(f"{type(error).__name__}: {error}")
    say("ended")
    server.close()


if __name__ == "__main__":
    main()
