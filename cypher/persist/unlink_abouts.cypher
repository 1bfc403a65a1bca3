// Removes some chunks from ABOUT, and the relationships that no chunk asserts any more.
// params: chunk_ids
// columns: -
UNWIND $chunk_ids AS id
MATCH (:Chunk {id: id})<-[:IN_CHUNK]-(:Statement)-[r:ABOUT]->(:Topic)
WITH DISTINCT r
SET r.chunks = [x IN r.chunks WHERE NOT x IN $chunk_ids]
WITH r WHERE size(r.chunks) = 0
DELETE r
