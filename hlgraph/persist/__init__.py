"""Writing a change to both stores through the journal, and finishing what an interrupted run left."""

from hlgraph.persist.journal import finish, persist

__all__ = ["finish", "persist"]
