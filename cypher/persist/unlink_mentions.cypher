// Removes some chunks from MENTIONS, and the relationships that no chunk asserts any more.
// params: chunk_ids
// columns: -
UNWIND $chunk_ids AS id
MATCH (:Chunk {id: id})<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(:Entity)
WITH DISTINCT r
WITH r, [i IN range(0, size(r.chunks) - 1) WHERE NOT r.chunks[i] IN $chunk_ids] AS keep
SET r.surfaces = [i IN keep | r.surfaces[i]], r.kinds = [i IN keep | r.kinds[i]], r.chunks = [i IN keep | r.chunks[i]]
WITH r WHERE size(r.chunks) = 0
DELETE r
