// Chunks by id as in read_chunks, and their sources as in read_sources, in one row: who reads a passage needs its source next.
// params: lists, corpus
// columns: records, sources
UNWIND $lists.ids AS id
MATCH (n:Chunk {id: id})
WHERE n.corpus = $corpus
WITH collect([id, n.source_id, n.text, n.start, n.end, n.position, n.tokens, n.headings, n.page, n.fingerprint]) AS records,
  collect(DISTINCT n.source_id) AS names
CALL (names) {
  UNWIND names AS name
  MATCH (s:Source {id: name})
  WHERE s.corpus = $corpus
  RETURN collect([name, s.corpus, s.uri, s.title, s.checksum, s.metadata, s.version, s.valid_from, s.valid_to]) AS sources
}
RETURN records, sources
