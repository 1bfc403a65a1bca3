// One page of the ids of the sources of a corpus after a given one, in order, without those that a filter does not admit.
// params: lists, corpus, after, size
// columns: id
MATCH (n:Source)
WHERE n.corpus = $corpus AND n.id > $after AND NOT n.id IN $lists.listed
RETURN n.id AS id ORDER BY n.corpus, n.id LIMIT $size
