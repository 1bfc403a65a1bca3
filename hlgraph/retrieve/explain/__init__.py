"""Explain a retrieval: notes taken while it runs, records for callers, and an HTML page with a drawing."""
