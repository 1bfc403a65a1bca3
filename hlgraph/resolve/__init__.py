"""Entity resolution: finds and decides which entities are the same."""
