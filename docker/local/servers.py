"""Starts and stops Neo4j and OpenSearch on this machine, without Docker: python docker/local/servers.py --help."""

import sys

from local_servers.cli import main

if __name__ == "__main__":
    sys.exit(main())
