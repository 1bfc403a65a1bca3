"""Measures of how well statements represent the text that they were extracted from: coverage and faithfulness."""
