"""Derived data, which can be rebuilt at any time: vectors, communities, layers of summaries."""
