// Drops a projection (GDS), if it exists.
// params: name
// columns: dropped
CALL gds.graph.drop($name, false)
YIELD graphName
RETURN graphName AS dropped
