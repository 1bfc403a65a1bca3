"""The one error of this folder: it names what was asked for, why it failed and what mends it."""

from __future__ import annotations


class ServerError(Exception):
    """A server cannot be fetched, started or stopped."""
