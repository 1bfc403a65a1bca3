// Which of some ids are nodes of the graph of a shape (projected by GDS) in a corpus, and whether they have a relationship in
// it: a projection holds no node without relationships.
// params: lists, corpus, shape
// columns: id, kind, is_joined
CALL () {
  UNWIND $lists.ids AS id
  MATCH (n:Chunk {id: id})
  WHERE n.corpus = $corpus AND $shape <> 'entity_entity'
  RETURN n.id AS found, 'chunk' AS kind,
    CASE $shape
      WHEN 'entity_passage' THEN EXISTS { (n)<-[:IN_CHUNK]-(:Statement)-[:MENTIONS]->(:Entity) }
      ELSE EXISTS { (n)<-[:IN_CHUNK]-(:Statement) }
    END AS is_joined
  UNION ALL
  UNWIND $lists.ids AS id
  MATCH (n:Statement {id: id})
  WHERE n.corpus = $corpus AND $shape = 'statement_entity_chunk'
  RETURN n.id AS found, 'statement' AS kind,
    EXISTS { (n)-[:MENTIONS]->(:Entity) } OR EXISTS { (n)-[:IN_CHUNK]->(:Chunk) } AS is_joined
  UNION ALL
  UNWIND $lists.ids AS id
  MATCH (n:Entity {id: id})
  WHERE n.corpus = $corpus
  RETURN n.id AS found, 'entity' AS kind,
    CASE $shape
      WHEN 'entity_passage' THEN EXISTS { (n)-[r:SYNONYM|SAME_AS]-(m:Entity) WHERE m <> n }
        OR EXISTS { (n)<-[:MENTIONS]-(:Statement)-[:IN_CHUNK]->(:Chunk) }
      WHEN 'statement_entity_chunk' THEN EXISTS { (n)<-[:MENTIONS]-(:Statement) } OR EXISTS { (n)-[:SAME_AS]-(:Entity) }
      ELSE EXISTS { (n)-[:RELATES|SAME_AS]-(m:Entity) WHERE m <> n } OR EXISTS {
        MATCH (n)<-[r:MENTIONS]-(:Statement)
        UNWIND r.chunks AS chunk
        WITH DISTINCT n, chunk
        MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[q:MENTIONS]->(m:Entity)
        WHERE chunk IN q.chunks
        WITH n, chunk, m, count(*) AS mentions ORDER BY mentions DESC, m.id
        WITH n, chunk, collect(m)[..100] AS first
        WHERE n IN first AND size(first) > 1
        RETURN n
      }
    END AS is_joined
}
RETURN found AS id, kind, is_joined ORDER BY id
