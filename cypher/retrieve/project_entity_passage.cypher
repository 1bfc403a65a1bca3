// Projects the graph of entities and chunks (GDS), undirected. Each two entities of a statement are joined with weight 2 per
// statement, a chunk and an entity of one of its statements with 1, synonyms with their cosine, merged entities with 1. The
// weights of parallel relationships add up. Each node has its kind: 0 a chunk, 2 an entity.
// params: name, corpus
// columns: nodes, relationships
CALL () {
  MATCH (s:Statement)
  WHERE s.corpus = $corpus AND s.id >= ''
  MATCH (a:Entity)<-[:MENTIONS]-(s)-[:MENTIONS]->(b:Entity)
  WHERE a.id < b.id
  RETURN a, 2 AS source, b, 2 AS target, 2.0 AS weight
  UNION ALL
  MATCH (a:Chunk)
  WHERE a.corpus = $corpus AND a.id >= ''
  CALL (a) {
    MATCH (a)<-[:IN_CHUNK]-(:Statement)-[:MENTIONS]->(b:Entity)
    RETURN DISTINCT b
  }
  RETURN a, 0 AS source, b, 2 AS target, 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:SYNONYM]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND a <> b
  RETURN a, 2 AS source, b, 2 AS target, toFloat(r.similarity) AS weight
  UNION ALL
  MATCH (a:Entity)-[:SAME_AS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, 2 AS source, b, 2 AS target, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {sourceNodeProperties: {kind: source}, targetNodeProperties: {kind: target}, relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
