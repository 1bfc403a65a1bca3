// The chunks of some sources, one row a source, each chunk as in read_chunks; for exports.
// params: source_ids
// columns: records
UNWIND $source_ids AS source_id
MATCH (n:Chunk {source_id: source_id})
RETURN collect([n.id, n.source_id, n.text, n.start, n.end, n.position, n.tokens, n.headings, n.page, n.fingerprint]) AS records
