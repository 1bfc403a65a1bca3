"""One process that people, programs and agents can ask: a service layer over the SDK, and its faces."""
