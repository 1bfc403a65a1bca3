// Personalised PageRank on a projection (GDS) from seeds of equal weight: the best nodes of some kinds, best first; of equal
// ones any. Kinds are those of the projection. Scores are those of GDS, with weight 1 per seed. Older versions of GDS support
// only this form.
// params: lists, name, corpus, damping, tolerance, max_iterations, k
// columns: id, score
CALL () {
  UNWIND $lists.chunks AS seed
  MATCH (n:Chunk {id: seed.id})
  RETURN n
  UNION ALL
  UNWIND $lists.statements AS seed
  MATCH (n:Statement {id: seed.id})
  RETURN n
  UNION ALL
  UNWIND $lists.entities AS seed
  MATCH (n:Entity {id: seed.id})
  RETURN n
}
WITH collect(n) AS seeds
CALL gds.pageRank.stream($name, {sourceNodes: seeds, dampingFactor: $damping, tolerance: $tolerance, maxIterations: $max_iterations, relationshipWeightProperty: 'weight'})
YIELD nodeId, score
WITH nodeId, score WHERE score > 0 AND gds.util.nodeProperty($name, nodeId, 'kind') IN $lists.kinds
WITH nodeId, score ORDER BY score DESC LIMIT $k
WITH gds.util.asNode(nodeId) AS n, score
WHERE n.corpus = $corpus
RETURN n.id AS id, score AS score
