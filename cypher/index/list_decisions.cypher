// The decisions about pairs of entities of a corpus: merges (SAME_AS), and pairs that were not merged (JUDGED).
// params: corpus
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
RETURN a.id AS alias, b.id AS canonical, r.verdict AS verdict, r.by AS by, r.made_by AS made_by, r.why AS why,
  r.score AS score, r.at AS at
