// The projections (GDS) whose names start with a prefix.
// params: prefix
// columns: name, nodes, relationships, memory
CALL gds.graph.list()
YIELD graphName, nodeCount, relationshipCount, sizeInBytes
WHERE graphName STARTS WITH $prefix
RETURN graphName AS name, nodeCount AS nodes, relationshipCount AS relationships, sizeInBytes AS memory ORDER BY name
