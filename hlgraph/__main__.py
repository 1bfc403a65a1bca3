"""Runs the command ``hlgraph`` as ``python -m hlgraph``."""

from hlgraph.cli import main

if __name__ == "__main__":
    main()
