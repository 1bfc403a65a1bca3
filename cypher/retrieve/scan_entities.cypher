// One page of the entities of a corpus after a given id, for the graph image; columns as of scan_chunks. A synonym has its
// similarity beside the integer. RELATES and CO_OCCURS are counted from the others.
// params: corpus, after, size
// columns: ids, numbers, subject, object, synonym, same_as
MATCH (n:Entity)
WHERE n.corpus = $corpus AND n.id > $after
WITH n ORDER BY n.corpus, n.id LIMIT $size
RETURN collect(n.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers,
  collect(COLLECT { MATCH (n)-[:SUBJECT]->(m:Fact) RETURN toInteger(split(elementId(m), ':')[2]) }) AS subject,
  collect(COLLECT { MATCH (n)-[:OBJECT]->(m:Fact) RETURN toInteger(split(elementId(m), ':')[2]) }) AS object,
  collect(COLLECT {
    MATCH (n)-[r:SYNONYM]->(m:Entity) RETURN [toInteger(split(elementId(m), ':')[2]), r.similarity]
  }) AS synonym,
  collect(COLLECT { MATCH (n)-[:SAME_AS]->(m:Entity) RETURN toInteger(split(elementId(m), ':')[2]) }) AS same_as
