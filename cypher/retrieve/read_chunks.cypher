// Chunks by id.
// params: ids
// columns: id, source_id, text, start, end, position, tokens, headings, page, fingerprint
UNWIND $ids AS id
MATCH (n:Chunk {id: id})
RETURN id, n.source_id AS source_id, n.text AS text, n.start AS start, n.end AS end, n.position AS position,
  n.tokens AS tokens, n.headings AS headings, n.page AS page, n.fingerprint AS fingerprint
