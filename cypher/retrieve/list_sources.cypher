// A corpus's sources after a given one, in order of id: what filters look at, one page.
// params: corpus, after, size
// columns: id, uri, title, metadata
MATCH (n:Source)
WHERE n.corpus = $corpus AND n.id > $after
RETURN n.id AS id, n.uri AS uri, n.title AS title, n.metadata AS metadata ORDER BY n.corpus, n.id LIMIT $size
