"""hlgraph for other frameworks, each in a folder of its own that needs an extra."""
