// Projects the graph of entities and chunks (GDS), undirected: each two entities of a statement, 2 a statement; a chunk and an
// entity of one of its statements, 1; synonyms by their cosine, merged ones by 1. Parallel relationships count by the sum of their weights.
// params: name, corpus
// columns: nodes, relationships
CALL () {
  MATCH (s:Statement)
  WHERE s.corpus = $corpus AND s.id >= ''
  MATCH (a:Entity)<-[:MENTIONS]-(s)-[:MENTIONS]->(b:Entity)
  WHERE a.id < b.id
  RETURN a, b, 2.0 AS weight
  UNION ALL
  MATCH (a:Chunk)
  WHERE a.corpus = $corpus AND a.id >= ''
  CALL (a) {
    MATCH (a)<-[:IN_CHUNK]-(:Statement)-[:MENTIONS]->(b:Entity)
    RETURN DISTINCT b
  }
  RETURN a, b, 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:SYNONYM]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND a <> b
  RETURN a, b, toFloat(r.similarity) AS weight
  UNION ALL
  MATCH (a:Entity)-[:SAME_AS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, b, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
