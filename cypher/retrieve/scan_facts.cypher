// One page of the facts of a corpus after a given id, for the graph image; columns as of scan_chunks.
// params: corpus, after, size
// columns: ids, numbers, supports
MATCH (n:Fact)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
RETURN collect(n.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers,
  collect(COLLECT { MATCH (n)-[:SUPPORTS]->(m:Statement) RETURN toInteger(split(elementId(m), ':')[2]) }) AS supports
