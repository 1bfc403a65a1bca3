// The ids of a corpus's entities after a given one, in order: one page.
// params: corpus, after, size
// columns: id
MATCH (n:Entity)
WHERE n.corpus = $corpus AND n.id > $after
RETURN n.id AS id ORDER BY n.corpus, n.id LIMIT $size
