"""For tests of hlgraph and of what is built on it: contract suites for stores, a tiny corpus, models without weights."""
