"""Preference alignment as in GraphMPA, section 4: pairs of answers, their losses, training of an adapter, and comparison."""
