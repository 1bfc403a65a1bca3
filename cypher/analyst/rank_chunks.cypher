// The largest chunks of a corpus by tokens, with the number of statements found in each. Reads every chunk of the corpus.
// params: corpus, where, kinds, k
// columns: tokens, characters, statements, title, page, start, end, chunk_id
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only chunks that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_chunks --k 10
MATCH (c:Chunk)
WHERE c.corpus = $corpus AND c.id >= '' AND ($where IS NULL OR (c.source_id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS {
    MATCH (c)<-[:IN_CHUNK]-(:Statement)-[m:MENTIONS]->(kind:Entity)
    WHERE kind.kind IN $kinds AND c.id IN m.chunks
  })
WITH c ORDER BY c.tokens DESC, c.id LIMIT $k
MATCH (c)-[:FROM_SOURCE]->(d:Source)
RETURN c.tokens AS tokens, size(c.text) AS characters, COUNT { (c)<-[:IN_CHUNK]-(:Statement) } AS statements,
  d.title AS title, c.page AS page, c.start AS start, c.end AS end, c.id AS chunk_id
ORDER BY tokens DESC, chunk_id
