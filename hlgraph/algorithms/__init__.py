"""Pure algorithms: they take arrays and subgraphs and return arrays, without I/O."""
