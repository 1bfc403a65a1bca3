"""Measures the quality, the latency and the cost of retrieval."""
