"""The embedded store: one directory, one SQLite database in WAL mode, vectors in memory-mapped files beside it."""
