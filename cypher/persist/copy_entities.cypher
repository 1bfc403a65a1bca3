// One page of the entities of a corpus after a given id, in order; for exports.
// params: corpus, after, size
// columns: id, name, kind
MATCH (n:Entity)
WHERE n.corpus = $corpus AND n.id > $after
RETURN n.id AS id, n.name AS name, n.kind AS kind ORDER BY n.corpus, n.id LIMIT $size
