"""Measures retrieval on questions whose supporting passages are known."""
