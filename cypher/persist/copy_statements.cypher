// The statements of some sources (id, source, text) and the links that their chunks assert, each with its chunks: places (chunk,
// statement, ordinal, start, end, details), abouts (statement, topic, chunks), mentions (statement, entity, chunks, surfaces,
// kinds) and supports (statement, fact, chunks); for exports.
// params: source_ids
// columns: records, places, abouts, mentions, supports
UNWIND $source_ids AS source_id
MATCH (n:Statement {source_id: source_id})
RETURN collect([n.id, n.source_id, n.text]) AS records,
  collect(COLLECT { MATCH (n)-[r:IN_CHUNK]->(c:Chunk) RETURN [c.id, n.id, r.ordinal, r.start, r.end, r.details] }) AS places,
  collect(COLLECT { MATCH (n)-[r:ABOUT]->(t:Topic) RETURN [n.id, t.id, r.chunks] }) AS abouts,
  collect(COLLECT { MATCH (n)-[r:MENTIONS]->(e:Entity) RETURN [n.id, e.id, r.chunks, r.surfaces, r.kinds] }) AS mentions,
  collect(COLLECT { MATCH (n)<-[r:SUPPORTS]-(f:Fact) RETURN [n.id, f.id, r.chunks] }) AS supports
