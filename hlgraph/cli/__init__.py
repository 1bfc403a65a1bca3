"""The command line ``hlgraph``: each command declares its options and calls the SDK."""

from hlgraph.cli.app import main

__all__ = ["main"]
