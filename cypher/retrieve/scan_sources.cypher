// One page of the sources of a corpus after a given id, for the graph image: ids, and the integers of their element ids.
// params: corpus, after, size
// columns: ids, numbers
MATCH (n:Source)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
RETURN collect(n.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
