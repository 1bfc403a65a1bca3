// One page of the ids of the chunks of a corpus after a given one, in order.
// params: corpus, after, size
// columns: id
MATCH (n:Chunk)
WHERE n.corpus = $corpus AND n.id > $after
RETURN n.id AS id ORDER BY n.corpus, n.id LIMIT $size
