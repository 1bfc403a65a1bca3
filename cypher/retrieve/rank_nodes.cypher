// Personalised PageRank over a projection (GDS): the best nodes, best first, ties by id. Scores are those of GDS: they do not
// sum to 1. Seeds that the projection does not hold have no relationship in it; the caller adds them.
// params: name, corpus, seeds, damping, tolerance, max_iterations, k
// columns: id, score
CALL () {
  UNWIND $seeds AS seed
  MATCH (n:Source {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $seeds AS seed
  MATCH (n:Chunk {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $seeds AS seed
  MATCH (n:Topic {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $seeds AS seed
  MATCH (n:Statement {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $seeds AS seed
  MATCH (n:Fact {id: seed.id})
  RETURN n, seed.weight AS weight
  UNION ALL
  UNWIND $seeds AS seed
  MATCH (n:Entity {id: seed.id})
  RETURN n, seed.weight AS weight
}
WITH collect([n, weight]) AS seeds
CALL gds.pageRank.stream($name, {sourceNodes: seeds, dampingFactor: $damping, tolerance: $tolerance, maxIterations: $max_iterations, relationshipWeightProperty: 'weight'})
YIELD nodeId, score
WITH gds.util.asNode(nodeId) AS n, score
WHERE score > 0 AND n.corpus = $corpus
RETURN n.id AS id, score AS score ORDER BY score DESC, id LIMIT $k
