// Decisions about entities that may be the same, newest first. The verdict is "same" for a merge, "different" for a pair that is
// kept apart, and "open" for a pair that was judged the same but contradicts another decision.
// params: corpus, name, where, kinds, k
// columns: verdict, alias, canonical, by, made_by, why, score, at, id
// $corpus text = default: the corpus
// $name text = any: only decisions about entities with this name or alias; any: all
// $where filter = "": only pairs one of which a source mentions that this filter admits, such as year >= 1900; empty: all
// $kinds kinds = "": only pairs with an entity of these kinds, such as person, place; empty: all
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
WHERE ($name = 'any' OR $name IN a.aliases OR $name IN b.aliases OR $name = a.name OR $name = b.name)
  AND (size($kinds) = 0 OR a.kind IN $kinds OR b.kind IN $kinds)
WITH a, r, b
WHERE ($where IS NULL OR EXISTS {
    MATCH (a)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
  OR ($where IS NULL OR EXISTS {
    MATCH (b)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
RETURN r.verdict AS verdict, a.name AS alias, b.name AS canonical, r.by AS by, r.made_by AS made_by, r.why AS why,
  r.score AS score, r.at AS at, r.id AS id
ORDER BY at DESC, id LIMIT $k
