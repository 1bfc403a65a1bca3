// Chunks by id, each as: id, source, text, start, end, position, tokens, headings, page, fingerprint. All in one row, because
// one row per record would be several times slower to read.
// params: lists, corpus
// columns: records
UNWIND $lists.ids AS id
MATCH (n:Chunk {id: id})
WHERE n.corpus = $corpus
RETURN collect([id, n.source_id, n.text, n.start, n.end, n.position, n.tokens, n.headings, n.page, n.fingerprint]) AS records
