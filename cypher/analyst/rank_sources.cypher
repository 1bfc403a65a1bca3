// The sources that say most, by the number of their statements, with their entities and facts. Reads every statement of the corpus.
// params: corpus, where, kinds, k
// columns: title, uri, statements, facts, entities, source_id
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity, and entities, of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_sources --where "year >= 1900" --k 10
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= '' AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
CALL (d) {
  MATCH (s:Statement {source_id: d.id})
  WHERE (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
  RETURN count(s) AS statements, sum(COUNT { (s)<-[:SUPPORTS]-() }) AS facts
}
WITH d, statements, facts WHERE statements > 0
WITH d, statements, facts ORDER BY statements DESC, facts DESC, d.id LIMIT $k
RETURN d.title AS title, d.uri AS uri, statements AS statements, facts AS facts, COUNT {
    MATCH (:Statement {source_id: d.id})-[:MENTIONS]->(e:Entity) WHERE (size($kinds) = 0 OR e.kind IN $kinds) RETURN DISTINCT e
  } AS entities, d.id AS source_id
ORDER BY statements DESC, facts DESC, source_id
