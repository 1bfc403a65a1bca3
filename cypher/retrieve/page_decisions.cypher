// Decisions about pairs of entities of a corpus, the newest first: those of a verdict and about an entity, or all (null).
// params: corpus, verdict, entity, k, skip
// columns: alias, canonical, verdict, by, made_by, why, score, at
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
RETURN a.id AS alias, b.id AS canonical, r.verdict AS verdict, r.by AS by, r.made_by AS made_by, r.why AS why,
  r.score AS score, r.at AS at
ORDER BY at DESC, alias, canonical SKIP $skip LIMIT $k
