// One page of the sources of a corpus after a given one, in order of id, with the fields that filters read.
// params: corpus, after, size
// columns: id, uri, title, metadata
MATCH (n:Source)
WHERE n.corpus = $corpus AND n.id > $after
RETURN n.id AS id, n.uri AS uri, n.title AS title, n.metadata AS metadata ORDER BY n.corpus, n.id LIMIT $size
