"""Measures of retrieval and of answers, by the names of the field. Pure functions."""
