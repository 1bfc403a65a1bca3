"""Starts and stops Neo4j and OpenSearch on this machine, without Docker: python docker/local/servers.py --help."""

import signal
import sys

from local_servers.cli import main

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was starting ends, as after Ctrl-C
    sys.exit(main())
