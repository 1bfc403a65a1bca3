"""Pure algorithms: arrays and subgraphs in, arrays out."""
