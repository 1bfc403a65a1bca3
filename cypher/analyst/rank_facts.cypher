// The facts that the most sources agree on, those with the most sources first. Reads every fact of the corpus.
// params: corpus, where, kinds, k
// columns: subject, predicate, object, sources, statements, fact_id
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only facts with an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_facts --k 10
MATCH (f:Fact)
WHERE f.corpus = $corpus AND f.id >= '' AND (size($kinds) = 0 OR EXISTS { MATCH (f)<-[:SUBJECT|OBJECT]-(kind:Entity) WHERE kind.kind IN $kinds })
MATCH (f)-[:SUPPORTS]->(s:Statement)
WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
WITH f, count(DISTINCT s.source_id) AS sources, count(s) AS statements ORDER BY sources DESC, statements DESC, f.id LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object, sources AS sources,
  statements AS statements, f.id AS fact_id
ORDER BY sources DESC, statements DESC, fact_id
