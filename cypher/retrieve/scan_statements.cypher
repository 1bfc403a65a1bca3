// One page of the statements of a corpus after a given id, for the graph image; columns as of scan_chunks. 'said' names, for a
// statement in several chunks, which entity is mentioned in which of them: the integer of the entity, and the id of the chunk.
// params: corpus, after, size
// columns: ids, numbers, in_chunk, about, mentions, said
MATCH (n:Statement)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
WITH n, COLLECT { MATCH (n)-[:IN_CHUNK]->(m:Chunk) RETURN toInteger(split(elementId(m), ':')[2]) } AS chunks
RETURN collect(n.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers, collect(chunks) AS in_chunk,
  collect(COLLECT { MATCH (n)-[:ABOUT]->(m:Topic) RETURN toInteger(split(elementId(m), ':')[2]) }) AS about,
  collect(COLLECT { MATCH (n)-[:MENTIONS]->(m:Entity) RETURN toInteger(split(elementId(m), ':')[2]) }) AS mentions,
  collect(COLLECT {
    MATCH (n)-[r:MENTIONS]->(m:Entity) WHERE size(chunks) > 1
    UNWIND r.chunks AS chunk
    RETURN [toInteger(split(elementId(m), ':')[2]), chunk]
  }) AS said
