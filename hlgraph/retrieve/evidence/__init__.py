"""Post-processes evidence: near-duplicates and table labels."""
