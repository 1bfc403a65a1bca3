"""The errors of this folder: each names what was asked for, why it failed and what mends it."""

from __future__ import annotations


class ServerError(Exception):
    """A server cannot be fetched, started or stopped."""


class PortTakenError(ServerError):
    """Another process has a port that a server was to listen on."""
