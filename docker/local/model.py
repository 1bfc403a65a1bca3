"""Installs, starts and stops a small chat model on this machine: python docker/local/model.py --help."""

import sys

from local_model.cli import main

if __name__ == "__main__":
    sys.exit(main())
