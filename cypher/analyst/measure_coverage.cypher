// How much was extracted from each source, the least covered first. Ranked by statements per 1,000 characters; where chunks
// overlap, characters count twice. Reads every chunk and statement of the corpus.
// params: corpus, where, kinds, k
// columns: title, uri, chunks, characters, statements, facts, per_1000_characters
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run measure_coverage --k 10
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= '' AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
CALL (d) {
  MATCH (c:Chunk {source_id: d.id})
  RETURN count(c) AS chunks, sum(c.end - c.start) AS characters
}
CALL (d) {
  MATCH (s:Statement {source_id: d.id})
  WHERE (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
  RETURN count(s) AS statements, sum(COUNT { (s)<-[:SUPPORTS]-() }) AS facts
}
WITH d, chunks, characters, statements, facts,
  CASE WHEN characters > 0 THEN round(1000.0 * statements / characters, 2) ELSE 0.0 END AS per_1000_characters
RETURN d.title AS title, d.uri AS uri, chunks AS chunks, characters AS characters, statements AS statements, facts AS facts,
  per_1000_characters AS per_1000_characters
ORDER BY per_1000_characters, uri LIMIT $k
