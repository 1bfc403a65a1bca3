// One page of the topics of a corpus after a given id, for the graph image; columns as of scan_chunks.
// params: corpus, after, size
// columns: ids, numbers, in_chunk
MATCH (n:Topic)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
RETURN collect(n.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers,
  collect(COLLECT { MATCH (n)-[:IN_CHUNK]->(m:Chunk) RETURN toInteger(split(elementId(m), ':')[2]) }) AS in_chunk
