// Personalised PageRank on a projection (GDS): the best nodes of some kinds, best first; of equal ones any. Scores are those of GDS,
// which do not sum to 1. Kinds are those of the projection. Every seed is a node of the projection.
// params: lists, name, corpus, damping, tolerance, max_iterations, k
// columns: id, score
CALL () {
  UNWIND $lists.chunks AS seed
  MATCH (n:Chunk {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $lists.statements AS seed
  MATCH (n:Statement {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $lists.entities AS seed
  MATCH (n:Entity {id: seed.id})
  RETURN n, seed.weight AS weight
}
WITH collect([n, weight]) AS seeds
CALL gds.pageRank.stream($name, {sourceNodes: seeds, dampingFactor: $damping, tolerance: $tolerance, maxIterations: $max_iterations, relationshipWeightProperty: 'weight'})
YIELD nodeId, score
WITH nodeId, score WHERE score > 0 AND gds.util.nodeProperty($name, nodeId, 'kind') IN $lists.kinds
WITH nodeId, score ORDER BY score DESC LIMIT $k
WITH gds.util.asNode(nodeId) AS n, score
WHERE n.corpus = $corpus
RETURN n.id AS id, score AS score
