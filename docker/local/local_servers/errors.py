"""The errors of this folder: each names the request, the reason of the failure and the remedy."""

from __future__ import annotations


class ServerError(Exception):
    """A server cannot be fetched, started or stopped."""


class PortTakenError(ServerError):
    """Another process uses the port that a server was to listen on."""
