"""The mutants are a script for `make mutants`: pytest must not import it in search of doctests."""

collect_ignore_glob = ["*.py"]
