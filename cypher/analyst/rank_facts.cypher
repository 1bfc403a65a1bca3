// The facts that the most sources agree on, those with the most sources first. Reads every fact of the corpus.
// params: corpus, k
// columns: subject, predicate, object, sources, statements, fact_id
// $corpus text = default: the corpus
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_facts --k 10
MATCH (f:Fact)
WHERE f.corpus = $corpus AND f.id >= ''
MATCH (f)-[:SUPPORTS]->(s:Statement)
WITH f, count(DISTINCT s.source_id) AS sources, count(s) AS statements ORDER BY sources DESC, statements DESC, f.id LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object, sources AS sources,
  statements AS statements, f.id AS fact_id
ORDER BY sources DESC, statements DESC, fact_id
