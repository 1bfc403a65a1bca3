// The chunks of some sources, each with the next one; null after the last.
// params: source_ids
// columns: id, next_id
UNWIND $source_ids AS source_id
MATCH (a:Chunk {source_id: source_id})
OPTIONAL MATCH (a)-[:NEXT]->(b:Chunk)
RETURN a.id AS id, b.id AS next_id
