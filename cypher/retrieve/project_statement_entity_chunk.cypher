// Projects the graph of statements with their entities and chunks, of merged entities, and of synonyms whose similarity is at
// least $synonyms (null: of none) (GDS), undirected, all weights 1. The weights of parallel relationships add up.
// params: name, corpus, synonyms
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
  UNION ALL
  MATCH (a:Entity)-[r:SYNONYM]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND r.similarity >= $synonyms AND a <> b
  RETURN a, b, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
