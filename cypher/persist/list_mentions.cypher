// The mentions of entities in some chunks: the name and kind used, and the number of statements.
// params: chunk_ids
// columns: chunk_id, entity_id, surface, kind, mentions
UNWIND $chunk_ids AS id
MATCH (c:Chunk {id: id})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(e:Entity)
UNWIND [i IN range(0, size(r.chunks) - 1) WHERE r.chunks[i] = id] AS i
RETURN id AS chunk_id, e.id AS entity_id, r.surfaces[i] AS surface, r.kinds[i] AS kind, count(*) AS mentions
ORDER BY chunk_id, entity_id, surface, kind
