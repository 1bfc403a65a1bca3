"""Storage: the two protocols, one closed table of stores, and one folder per store."""
