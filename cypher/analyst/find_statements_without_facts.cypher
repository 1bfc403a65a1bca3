// Statements that support no fact, those with the most entities first. They show where the extraction of facts missed most.
// Reads every statement of the corpus.
// params: corpus, where, kinds, k
// columns: statement, entities, title, statement_id
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_statements_without_facts --k 10
MATCH (s:Statement)
WHERE s.corpus = $corpus AND s.id >= '' AND NOT EXISTS { (s)<-[:SUPPORTS]-() } AND ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
WITH s, COUNT { (s)-[:MENTIONS]->() } AS entities ORDER BY entities DESC, s.id LIMIT $k
MATCH (d:Source {id: s.source_id})
RETURN s.text AS statement, entities AS entities, d.title AS title, s.id AS statement_id
ORDER BY entities DESC, statement_id
