// Removes every IN_CHUNK into some chunks; their other links are already removed.
// params: chunk_ids
// columns: -
UNWIND $chunk_ids AS id
MATCH (:Chunk {id: id})<-[r:IN_CHUNK]-()
DELETE r
