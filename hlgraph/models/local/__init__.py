"""Models that run on this machine, without a key or a server. Import them from their modules, which load packages lazily."""
