"""Storage: two protocols, a closed table of stores, and a folder a store."""
