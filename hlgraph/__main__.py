"""``python -m hlgraph`` is the command ``hlgraph``."""

from hlgraph.cli import main

if __name__ == "__main__":
    main()
