// One page of the chunks of a corpus after a given id, for the graph image: ids, the integers of their element ids, and those
// of the nodes at the other end of their relationships, a list a chunk.
// params: corpus, after, size
// columns: ids, numbers, from_source, next
MATCH (n:Chunk)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
RETURN collect(n.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers,
  collect(COLLECT { MATCH (n)-[:FROM_SOURCE]->(m:Source) RETURN toInteger(split(elementId(m), ':')[2]) }) AS from_source,
  collect(COLLECT { MATCH (n)-[:NEXT]->(m:Chunk) RETURN toInteger(split(elementId(m), ':')[2]) }) AS next
