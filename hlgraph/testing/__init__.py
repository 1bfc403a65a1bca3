"""Tools for testing hlgraph and its extensions: contract suites for stores, a tiny corpus, and models that need no weights."""
