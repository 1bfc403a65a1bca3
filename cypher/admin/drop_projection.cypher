// Drops a projection (GDS); one that is not there is no error.
// params: name
// columns: dropped
CALL gds.graph.drop($name, false)
YIELD graphName
RETURN graphName AS dropped
