"""Installs, starts and stops a small chat model on this machine: python docker/local/model.py --help."""

import signal
import sys

from local_model.cli import main

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was starting ends, as after Ctrl-C
    sys.exit(main())
