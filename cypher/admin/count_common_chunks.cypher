// The number of pairs of entities in the chunks of a corpus, of each chunk at most 100 entities: an upper bound of CO_OCCURS.
// params: corpus
// columns: pairs
MATCH (c:Chunk)
WHERE c.corpus = $corpus AND c.id >= ''
CALL (c) {
  MATCH (c)<-[:IN_CHUNK]-(:Statement)-[:MENTIONS]->(e:Entity)
  WITH count(DISTINCT e) AS entities
  RETURN CASE WHEN entities > 100 THEN 100 ELSE entities END AS entities
}
RETURN sum(entities * (entities - 1) / 2) AS pairs
