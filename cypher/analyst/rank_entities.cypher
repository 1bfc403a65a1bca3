// The most central entities of a corpus, by the number of other entities that share a chunk with them (ties by id). Reads every
// mention of the corpus once.
// params: corpus, where, kinds, k
// columns: id, name, kind, degree, facts, statements
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_entities --k 10
MATCH (e:Entity)<-[m:MENTIONS]-(s)
WHERE e.corpus = $corpus AND e.id >= '' AND ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
UNWIND m.chunks AS chunk
WITH chunk, collect(DISTINCT e) AS found
UNWIND found AS e
UNWIND found AS o
WITH e, count(DISTINCT o) - 1 AS degree WHERE (size($kinds) = 0 OR e.kind IN $kinds)
WITH e, degree ORDER BY degree DESC, e.id LIMIT $k
RETURN e.id AS id, e.name AS name, e.kind AS kind, degree AS degree,
  COUNT {
    MATCH (e)-[:SUBJECT|OBJECT]->(f:Fact) WHERE $where IS NULL OR EXISTS {
      MATCH (f)-[:SUPPORTS]->(n:Statement) WHERE (n.source_id IN $where.listed) = $where.admits
    }
    RETURN DISTINCT f
  } AS facts,
  CASE WHEN $where IS NULL THEN COUNT { (e)<-[:MENTIONS]-() } ELSE COUNT {
    MATCH (e)<-[:MENTIONS]-(n:Statement) WHERE (n.source_id IN $where.listed) = $where.admits
  } END AS statements
ORDER BY degree DESC, id
