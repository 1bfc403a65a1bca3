// The topics of some sources as in read_topics, and the spellings of their chunks: chunk, topic, spelling; for exports.
// params: source_ids
// columns: records, namings
UNWIND $source_ids AS source_id
MATCH (n:Topic {source_id: source_id})
RETURN collect([n.id, n.source_id, n.name]) AS records,
  collect(COLLECT { MATCH (n)-[r:IN_CHUNK]->(c:Chunk) RETURN [c.id, n.id, r.name] }) AS namings
