// Statements that support no fact, those with the most entities first. They show where the extraction of facts missed most.
// Reads every statement of the corpus.
// params: corpus, k
// columns: statement, entities, title, statement_id
// $corpus text = default: the corpus
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_statements_without_facts --k 10
MATCH (s:Statement)
WHERE s.corpus = $corpus AND s.id >= '' AND NOT EXISTS { (s)<-[:SUPPORTS]-() }
WITH s, COUNT { (s)-[:MENTIONS]->() } AS entities ORDER BY entities DESC, s.id LIMIT $k
MATCH (d:Source {id: s.source_id})
RETURN s.text AS statement, entities AS entities, d.title AS title, s.id AS statement_id
ORDER BY entities DESC, statement_id
