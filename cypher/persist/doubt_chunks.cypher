// Forgets how chunks were extracted, so that the next ingest of their source extracts them again.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (n:Chunk {id: id})
SET n.fingerprint = ''
