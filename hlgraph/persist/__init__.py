"""Persisting: compares documents with the stores, assembles one change, and writes it to both stores by the journal."""
