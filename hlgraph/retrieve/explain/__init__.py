"""Explains a retrieval: notes taken while it runs, records for callers, a page with a picture."""
