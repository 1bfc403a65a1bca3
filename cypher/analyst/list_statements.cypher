// The statements about a topic, in the order of the text.
// params: id, k
// columns: statement, start, end, statement_id
MATCH (:Topic {id: $id})<-[a:ABOUT]-(s:Statement)-[r:IN_CHUNK]->(c:Chunk)
WHERE c.id IN a.chunks
RETURN s.text AS statement, min(c.start + r.start) AS start, min(c.start + r.end) AS end, s.id AS statement_id
ORDER BY start, statement_id LIMIT $k
