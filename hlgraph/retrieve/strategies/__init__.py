"""The retrieval strategies, one file each."""
