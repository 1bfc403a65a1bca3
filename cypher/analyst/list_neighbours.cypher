// The entities that share a chunk with an entity, those with the most common chunks first. With the predicates of the facts
// between the two, in either direction.
// params: corpus, entity, k
// columns: id, name, kind, chunks, predicates
// $corpus text = default: the corpus
// $entity entity: the entity whose neighbours are listed
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_neighbours --entity "River Velm"
MATCH (a:Entity {id: $entity, corpus: $corpus})<-[q:MENTIONS]-(:Statement)
UNWIND q.chunks AS chunk
WITH DISTINCT a, chunk
MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(e:Entity)
WHERE chunk IN r.chunks AND e <> a
WITH a, e, count(DISTINCT chunk) AS chunks ORDER BY chunks DESC, e.id LIMIT $k
CALL (a, e) {
  OPTIONAL MATCH (a)-[r:RELATES]-(e)
  WITH DISTINCT r.predicate AS predicate ORDER BY predicate
  RETURN collect(predicate) AS predicates
}
RETURN e.id AS id, e.name AS name, e.kind AS kind, chunks AS chunks, predicates AS predicates ORDER BY chunks DESC, id
