// The entities that share a chunk with an entity, those with the most common chunks first. With the facts between the two, each
// written as subject, predicate, object.
// params: corpus, entity, where, kinds, k
// columns: id, name, kind, chunks, facts
// $corpus text = default: the corpus
// $entity entity: the entity whose neighbours are listed
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only neighbours of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_neighbours --entity "River Velm"
MATCH (a:Entity {id: $entity, corpus: $corpus})<-[q:MENTIONS]-(p:Statement)
WHERE ($where IS NULL OR (p.source_id IN $where.listed) = $where.admits)
UNWIND q.chunks AS chunk
WITH DISTINCT a, chunk
MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(e:Entity)
WHERE chunk IN r.chunks AND e <> a AND (size($kinds) = 0 OR e.kind IN $kinds)
WITH a, e, count(DISTINCT chunk) AS chunks ORDER BY chunks DESC, e.id LIMIT $k
CALL (a, e) {
  OPTIONAL MATCH (a)-[r:RELATES]-(e)
  WITH r, startNode(r) AS s, endNode(r) AS o
  WHERE $where IS NULL OR EXISTS {
    MATCH (s)-[:SUBJECT]->(f:Fact {predicate: r.predicate})<-[:OBJECT]-(o)
    MATCH (f)-[:SUPPORTS]->(n:Statement) WHERE (n.source_id IN $where.listed) = $where.admits
  }
  WITH DISTINCT s.name + ' ' + r.predicate + ' ' + o.name AS fact ORDER BY fact
  RETURN collect(fact) AS facts
}
RETURN e.id AS id, e.name AS name, e.kind AS kind, chunks AS chunks, facts AS facts ORDER BY chunks DESC, id
