"""Post-processes evidence: removes near-duplicates, adds table labels."""
