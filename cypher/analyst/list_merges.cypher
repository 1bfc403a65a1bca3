// What was decided about entities that may be one, the newest first. Merges are "same", pairs that are kept apart "different",
// and pairs that were judged to be one but contradict another decision "open".
// params: corpus, name, k
// columns: verdict, alias, canonical, by, made_by, why, score, at, id
// $corpus text = default: the corpus
// $name text = any: of entities with this name or alias alone; any: of all
// $k integer 1.. = 25: rows at most
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
