// Projects the graph of entities (GDS), undirected: joined by facts and by common chunks, weighted by the number of both;
// merged entities by 1. The weights of parallel relationships add up.
// params: name, corpus
// columns: nodes, relationships
CALL () {
  MATCH (a:Entity)-[r:RELATES]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND a <> b
  RETURN a, b, toFloat(r.facts) AS weight
  UNION ALL
  MATCH (a:Entity)-[r:CO_OCCURS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND a <> b
  RETURN a, b, toFloat(r.chunks) AS weight
  UNION ALL
  MATCH (a:Entity)-[:SAME_AS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, b, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
