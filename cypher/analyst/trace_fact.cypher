// The sources that assert a fact, with the statements of each that support it.
// params: id
// columns: title, uri, statements, source_id
MATCH (f:Fact {id: $id})-[r:SUPPORTS]->(s:Statement)
UNWIND r.chunks AS chunk_id
MATCH (:Chunk {id: chunk_id})-[:FROM_SOURCE]->(d:Source)
WITH DISTINCT d, s ORDER BY s.text
RETURN d.title AS title, d.uri AS uri, collect(s.text) AS statements, d.id AS source_id ORDER BY uri, source_id
