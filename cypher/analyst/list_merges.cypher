// Decisions about entities that may be the same, newest first. The verdict is "same" for a merge, "different" for a pair that is
// kept apart, and "open" for a pair that was judged the same but contradicts another decision.
// params: corpus, name, k
// columns: verdict, alias, canonical, by, made_by, why, score, at, id
// $corpus text = default: the corpus
// $name text = any: only decisions about entities with this name or alias; any: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_merges
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
WHERE $name = 'any' OR $name IN a.aliases OR $name IN b.aliases OR $name = a.name OR $name = b.name
RETURN r.verdict AS verdict, a.name AS alias, b.name AS canonical, r.by AS by, r.made_by AS made_by, r.why AS why,
  r.score AS score, r.at AS at, r.id AS id
ORDER BY at DESC, id LIMIT $k
