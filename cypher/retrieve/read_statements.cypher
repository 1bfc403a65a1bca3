// Statements by id, each as: id, source, text, start and end in the source, chunk, details; span and details are those of the
// first chunk that asserts them. All in one row, because one row per record would be several times slower to read.
// params: lists, corpus
// columns: records
UNWIND $lists.ids AS id
MATCH (n:Statement {id: id})
WHERE n.corpus = $corpus
CALL (n) {
  MATCH (n)-[r:IN_CHUNK]->(c:Chunk)
  RETURN c, r ORDER BY c.position LIMIT 1
}
RETURN collect([id, n.source_id, n.text, c.start + r.start, c.start + r.end, c.id, r.details]) AS records
