// What connects two entities: the steps of a shortest path of facts and common chunks between them, at most $hops (and six)
// long; of several equally short paths, one. No row when there is none. A predicate may stand in either direction.
// params: start_id, end_id, hops
// columns: step, start, end, predicates, chunks
MATCH (a:Entity {id: $start_id})
CALL (a) {
  MATCH (b:Entity {id: $end_id})
  RETURN b
}
WITH a, b WHERE a <> b
MATCH path = shortestPath((a)-[:RELATES|CO_OCCURS*..6]-(b))
WITH nodes(path) AS found WHERE size(found) - 1 <= $hops
UNWIND range(1, size(found) - 1) AS step
WITH step, found[step - 1] AS a, found[step] AS b
CALL (a, b) {
  OPTIONAL MATCH (a)-[r:RELATES]-(b)
  WITH DISTINCT r.predicate AS predicate ORDER BY predicate
  RETURN collect(predicate) AS predicates
}
RETURN step AS step, a.name AS start, b.name AS end, predicates AS predicates,
  coalesce(head([(a)-[r:CO_OCCURS]-(b) | r.chunks]), 0) AS chunks
ORDER BY step
