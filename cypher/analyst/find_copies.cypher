// Chunks that occur word for word in several places, those with the most copies first. They are passages that one source copies
// from another, or boilerplate. Reads every chunk of the corpus.
// params: corpus, characters, where, kinds, k
// columns: text, copies, sources, titles, chunk_ids
// $corpus text = default: the corpus
// $characters integer 0.. = 40: minimum length of a text in characters
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only chunks that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_copies --characters 20
MATCH (c:Chunk)
WHERE c.corpus = $corpus AND c.id >= '' AND ($where IS NULL OR (c.source_id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS {
    MATCH (c)<-[:IN_CHUNK]-(:Statement)-[m:MENTIONS]->(kind:Entity)
    WHERE kind.kind IN $kinds AND c.id IN m.chunks
  })
WITH c WHERE size(c.text) >= $characters
WITH c.text AS text, collect(c) AS same, count(DISTINCT c.source_id) AS sources WHERE size(same) > 1
WITH text, same, sources ORDER BY size(same) DESC, text LIMIT $k
UNWIND same AS c
MATCH (d:Source {id: c.source_id})
WITH text, same, sources, d.title AS title, c.id AS chunk_id ORDER BY title, chunk_id
WITH text, size(same) AS copies, sources, collect(title) AS titles, collect(chunk_id) AS chunk_ids
RETURN text AS text, copies AS copies, sources AS sources, titles AS titles, chunk_ids AS chunk_ids
ORDER BY copies DESC, text
