"""Makes evaluation questions of a corpus, checks them, and writes them as an evaluation set."""
