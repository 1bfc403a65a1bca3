// Personalised PageRank over a projection (GDS) from seeds of equal weight: the best nodes, best first, ties by id. Scores are
// those of GDS, with weight 1 a seed. Older versions of GDS know only this form.
// params: name, corpus, ids, damping, tolerance, max_iterations, k
// columns: id, score
CALL () {
  UNWIND $ids AS id
  MATCH (n:Source {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Chunk {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Topic {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Statement {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Fact {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Entity {id: id})
  RETURN n
}
WITH collect(n) AS seeds
CALL gds.pageRank.stream($name, {sourceNodes: seeds, dampingFactor: $damping, tolerance: $tolerance, maxIterations: $max_iterations, relationshipWeightProperty: 'weight'})
YIELD nodeId, score
WITH gds.util.asNode(nodeId) AS n, score
WHERE score > 0 AND n.corpus = $corpus
RETURN n.id AS id, score AS score ORDER BY score DESC, id LIMIT $k
