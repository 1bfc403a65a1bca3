// One page of the sources of a corpus after a given id, in order, with the number of their chunks; for exports.
// params: corpus, after, size
// columns: id, chunks
MATCH (n:Source)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
RETURN n.id AS id, COUNT { (n)<-[:FROM_SOURCE]-(:Chunk) } AS chunks
