// Provenance of a statement: every chunk that asserts it, its source, and the characters of the source that it stands on.
// params: id
// columns: statement, title, uri, page, start, end, details, chunk_id
MATCH (s:Statement {id: $id})-[r:IN_CHUNK]->(c:Chunk)-[:FROM_SOURCE]->(d:Source)
RETURN s.text AS statement, d.title AS title, d.uri AS uri, c.page AS page, c.start + r.start AS start,
  c.start + r.end AS end, r.details AS details, c.id AS chunk_id
ORDER BY c.position, chunk_id
