// Projects the graph of statements with their entities and chunks, of merged entities, and of synonyms whose similarity is at
// least $synonyms (null: of none) (GDS), undirected, all weights 1. The weights of parallel relationships add up. Each node has
// its kind: 0 a chunk, 1 a statement, 2 an entity.
// params: name, corpus, synonyms
// columns: nodes, relationships
CALL () {
  MATCH (a:Statement)-[:MENTIONS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, 1 AS source, b, 2 AS target, 1.0 AS weight
  UNION ALL
  MATCH (a:Statement)-[:IN_CHUNK]->(b:Chunk)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, 1 AS source, b, 0 AS target, 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[:SAME_AS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, 2 AS source, b, 2 AS target, 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:SYNONYM]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND r.similarity >= $synonyms AND a <> b
  RETURN a, 2 AS source, b, 2 AS target, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {sourceNodeProperties: {kind: source}, targetNodeProperties: {kind: target}, relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
