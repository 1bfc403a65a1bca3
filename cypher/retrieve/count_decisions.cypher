// The number of decisions about pairs of entities of a corpus: those of a verdict and about an entity, or all (null).
// params: corpus, verdict, entity
// columns: total
CALL () {
  MATCH (a:Entity)-[r:SAME_AS]->(b:Entity)
  USING INDEX r:SAME_AS(corpus)
  WHERE r.corpus = $corpus
  RETURN a, r, b
  UNION ALL
  MATCH (a:Entity)-[r:JUDGED]->(b:Entity)
  USING INDEX r:JUDGED(corpus)
  WHERE r.corpus = $corpus
  RETURN a, r, b
}
WITH a, r, b
WHERE ($verdict IS NULL OR r.verdict = $verdict) AND ($entity IS NULL OR $entity IN [a.id, b.id])
RETURN count(r) AS total
