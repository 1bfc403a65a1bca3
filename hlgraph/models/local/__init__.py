"""Models that run here: no key, no server. Import them from their modules, which load what they need when it is needed."""
