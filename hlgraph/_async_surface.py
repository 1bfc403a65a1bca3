"""The public surface of HLGraph, awaited. What a type checker sees of it stands in the stub beside this file."""

from __future__ import annotations

from hlgraph.awaited import awaited
from hlgraph.client import HLGraph

AsyncSurface = awaited(HLGraph)
