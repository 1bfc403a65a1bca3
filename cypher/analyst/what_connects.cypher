// What connects two entities: the steps of a shortest path between them. The path has at most $hops (and six) steps, along facts
// if such a path exists, else along common statements, else along common statements and chunks. Of several shortest paths (the first thousand found) it is the one
// whose entities have fewest facts, for those say most, and of equals the first by identifiers. Each step has the predicates of
// its facts, which may point in either direction, the number of common chunks, and a statement that mentions both ends, if there
// is one. No row if nothing connects them.
// params: corpus, source, target, hops
// columns: step, start, end, predicates, chunks, statement
// $corpus text = default: the corpus
// $source entity: where the path begins
// $target entity: where it ends
// $hops integer 1..6 = 4: maximum number of steps
// example: hlgraph cypher run what_connects --source "Emeric Vaude" --target "Isle of Gannow"
MATCH (a:Entity {id: $source, corpus: $corpus})
CALL (a) {
  MATCH (b:Entity {id: $target, corpus: $corpus})
  RETURN b
}
WITH a, b WHERE a <> b
CALL (a, b) {
  MATCH path = allShortestPaths((a)-[:RELATES*..6]-(b))
  RETURN path, 1 AS choice LIMIT 1000
UNION ALL
  MATCH path = allShortestPaths((a)-[:MENTIONS*..12]-(b))
  RETURN path, 2 AS choice LIMIT 1000
UNION ALL
  MATCH path = allShortestPaths((a)-[:MENTIONS|IN_CHUNK*..24]-(b))
  WHERE none(n IN nodes(path) WHERE n:Topic)
  RETURN path, 3 AS choice LIMIT 1000
}
WITH [n IN nodes(path) WHERE n:Entity] AS found, choice
WHERE size(found) - 1 <= $hops
WITH found, choice, reduce(facts = 0, n IN found | facts + COUNT { (n)-[:RELATES]-() }) AS facts
ORDER BY choice, size(found), facts, [n IN found | n.id] LIMIT 1
UNWIND range(1, size(found) - 1) AS step
WITH step, found[step - 1] AS a, found[step] AS b
CALL (a, b) {
  OPTIONAL MATCH (a)-[r:RELATES]-(b)
  WITH DISTINCT r.predicate AS predicate ORDER BY predicate
  RETURN collect(predicate) AS predicates
}
CALL (a, b) {
  OPTIONAL MATCH (a)<-[:MENTIONS]-(s:Statement)-[:MENTIONS]->(b)
  RETURN s.text AS statement ORDER BY COUNT { (s)<-[:SUPPORTS]-() } DESC, s.id LIMIT 1
}
RETURN step AS step, a.name AS start, b.name AS end, predicates AS predicates,
  COUNT {
    MATCH (a)<-[q:MENTIONS]-(:Statement)
    UNWIND q.chunks AS chunk
    MATCH (b)<-[r:MENTIONS]-(:Statement)
    WHERE chunk IN r.chunks
    RETURN DISTINCT chunk
  } AS chunks, statement AS statement
ORDER BY step
