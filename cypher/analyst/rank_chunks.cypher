// The largest chunks of a corpus by tokens, with the number of statements found in each. Reads every chunk of the corpus.
// params: corpus, k
// columns: tokens, characters, statements, title, page, start, end, chunk_id
// $corpus text = default: the corpus
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_chunks --k 10
MATCH (c:Chunk)
WHERE c.corpus = $corpus AND c.id >= ''
WITH c ORDER BY c.tokens DESC, c.id LIMIT $k
MATCH (c)-[:FROM_SOURCE]->(d:Source)
RETURN c.tokens AS tokens, size(c.text) AS characters, COUNT { (c)<-[:IN_CHUNK]-(:Statement) } AS statements,
  d.title AS title, c.page AS page, c.start AS start, c.end AS end, c.id AS chunk_id
ORDER BY tokens DESC, chunk_id
