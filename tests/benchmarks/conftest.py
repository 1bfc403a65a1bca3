"""Benchmarks are scripts for `make bench`: pytest must not import them in search of doctests."""

collect_ignore_glob = ["*.py"]
