// The maximum number of nodes and relationships of the projection of a shape (GDS), with all synonyms; parallel relationships
// are not merged.
// params: corpus, shape
// columns: nodes, edges
CALL () {
  MATCH (s:Statement)
  WHERE s.corpus = $corpus AND s.id >= '' AND $shape <> 'entity_entity'
  WITH COUNT { (s)-[:MENTIONS]->() } AS entities, COUNT { (s)-[:IN_CHUNK]->() } AS chunks
  RETURN CASE $shape WHEN 'entity_passage' THEN 0 ELSE 1 END AS node,
    CASE $shape WHEN 'entity_passage' THEN entities * (entities - 1) / 2 + entities * chunks ELSE entities + chunks END AS joined
  UNION ALL
  MATCH (c:Chunk)
  WHERE c.corpus = $corpus AND c.id >= '' AND $shape <> 'entity_entity'
  RETURN 1 AS node, 0 AS joined
  UNION ALL
  MATCH (e:Entity)
  WHERE e.corpus = $corpus AND e.id >= ''
  RETURN 1 AS node,
    CASE $shape
      WHEN 'entity_entity' THEN COUNT { (e)-[:RELATES]->() }
      ELSE COUNT { (e)-[:SYNONYM]->() }
    END + COUNT { (e)-[:SAME_AS]->() } AS joined
}
RETURN sum(node) AS nodes, sum(joined) AS edges
