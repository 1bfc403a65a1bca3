"""Writing a change to both stores through the journal, finishing what an interrupted run left, and giving it up."""

from hlgraph.persist.journal import abandon, finish, persist

__all__ = ["abandon", "finish", "persist"]
