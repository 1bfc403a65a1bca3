// The pairs of entities that occur together in the most chunks. This is CO_OCCURS, computed from the mentions. Of a chunk with very
// many entities the first 100 count: most mentioned first, then by id. Reads every mention of the corpus.
// params: corpus, where, kinds, k
// columns: first, second, chunks, first_id, second_id
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run pair_entities --k 10
MATCH (c:Chunk)
WHERE c.corpus = $corpus AND c.id >= '' AND ($where IS NULL OR (c.source_id IN $where.listed) = $where.admits)
CALL (c) {
  MATCH (c)<-[:IN_CHUNK]-(s:Statement)-[m:MENTIONS]->(e:Entity)
  WHERE c.id IN m.chunks AND (size($kinds) = 0 OR e.kind IN $kinds)
  WITH e, count(s) AS statements ORDER BY statements DESC, e.id LIMIT 100
  WITH e ORDER BY e.id
  RETURN collect(e) AS found
}
WITH found WHERE size(found) > 1
UNWIND range(0, size(found) - 2) AS i
UNWIND range(i + 1, size(found) - 1) AS j
WITH found[i] AS a, found[j] AS b, count(*) AS chunks ORDER BY chunks DESC, a.id, b.id LIMIT $k
RETURN a.name AS first, b.name AS second, chunks AS chunks, a.id AS first_id, b.id AS second_id
ORDER BY chunks DESC, first_id, second_id
