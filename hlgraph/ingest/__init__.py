"""Brings a corpus to the state of its sources: from paths and options to a report."""
