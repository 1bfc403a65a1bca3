// The most central entities of a corpus, by the number of other entities that share a chunk with them (ties by id). Reads every
// mention of the corpus.
// params: corpus, k
// columns: id, name, kind, degree, facts, statements
// $corpus text = default: the corpus
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_entities --k 10
MATCH (e:Entity)
WHERE e.corpus = $corpus AND e.id >= ''
WITH e, COUNT {
    MATCH (e)<-[q:MENTIONS]-(:Statement)
    UNWIND q.chunks AS chunk
    WITH DISTINCT e, chunk
    MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(o:Entity)
    WHERE chunk IN r.chunks AND o <> e
    RETURN DISTINCT o
  } AS degree ORDER BY degree DESC, e.id LIMIT $k
RETURN e.id AS id, e.name AS name, e.kind AS kind, degree AS degree,
  COUNT { (e)-[:SUBJECT]->() } + COUNT { (e)-[:OBJECT]->() } AS facts, COUNT { (e)<-[:MENTIONS]-() } AS statements
ORDER BY degree DESC, id
