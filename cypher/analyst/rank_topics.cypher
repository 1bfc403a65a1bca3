// The topics of a corpus by the number of statements about them. Topics of the same name in several sources count as one.
// Reads every topic of the corpus.
// params: corpus, where, kinds, k
// columns: topic, statements, sources, titles
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_topics --where "year >= 1900" --k 10
MATCH (t:Topic)
WHERE t.corpus = $corpus AND t.id >= '' AND ($where IS NULL OR (t.source_id IN $where.listed) = $where.admits)
CALL (t) {
  MATCH (t)<-[:ABOUT]-(s:Statement)
  WHERE (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
  RETURN count(s) AS statements
}
WITH t, statements WHERE statements > 0
WITH toLower(t.name) AS name, min(t.name) AS topic, sum(statements) AS statements, collect(DISTINCT t.source_id) AS source_ids
ORDER BY statements DESC, name LIMIT $k
CALL (source_ids) {
  UNWIND source_ids AS source_id
  MATCH (d:Source {id: source_id})
  WITH d.title AS title ORDER BY title
  RETURN collect(title)[..5] AS titles
}
RETURN topic AS topic, statements AS statements, size(source_ids) AS sources, titles AS titles
ORDER BY statements DESC, name
