// Projects the graph of statements with their entities and chunks, and of merged entities (GDS), undirected, all weights 1.
// params: name, corpus
// columns: nodes, relationships
CALL () {
  MATCH (a:Statement)-[:MENTIONS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, b, 1.0 AS weight
  UNION ALL
  MATCH (a:Statement)-[:IN_CHUNK]->(b:Chunk)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, b, 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[:SAME_AS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, b, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
