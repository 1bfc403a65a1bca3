// A corpus as in persist/read_corpus, and what a process asks once: the migrations that ran in the database. One round trip in
// place of two; no row: no such corpus. The migrations are read for the corpus that was found, and only then: hence the condition on it.
// params: corpus
// columns: name, version, stamp, embedding, dimensions, staged, renewed_to, calibration, co_occurs, ids, vector_sets, has_acl, applied
MATCH (c:Corpus {name: $corpus})
WHERE c.arriving IS NULL
CALL (c) {
  MATCH (x:Change)
  WHERE x.corpus = c.name AND x.state = 'staged'
  WITH x ORDER BY x.place, x.id
  RETURN collect(x.id) AS staged
}
CALL (c) {
  MATCH (m:Migration)
  WHERE c.name IS NOT NULL
  WITH m ORDER BY m.version
  RETURN collect(m {.version, .name, .checksum, .applied_at, .hlgraph_version}) AS applied
}
RETURN c.name AS name, c.version AS version, c.stamp AS stamp, c.embedding AS embedding, c.dimensions AS dimensions, staged,
  c.renewed_to AS renewed_to, c.calibration AS calibration, c.co_occurs AS co_occurs,
  coalesce(c.ids, 1) AS ids, c.vector_sets AS vector_sets,
  EXISTS { MATCH (s:Source) WHERE s.corpus = c.name AND s.has_acl IS NOT NULL } AS has_acl, applied
