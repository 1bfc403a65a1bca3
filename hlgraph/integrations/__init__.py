"""Integrations with other frameworks, one folder each; every one needs an extra of the same name."""
