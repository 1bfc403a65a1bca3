"""Decides which entities are one: candidates, names, synonyms, a judge, decisions."""
