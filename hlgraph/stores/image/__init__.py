"""The graph image: one read-only form of a corpus, as arrays, on which pulls and rankings run for every graph store."""
