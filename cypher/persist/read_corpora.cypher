// All corpora: version, embedding model, staged changes, oldest first, how far topics of an older version are renewed,
// the scale of the cosines, the version for which CO_OCCURS is stored, whether a source names groups, and the newest migration of the database.
// params: -
// columns: name, version, stamp, embedding, dimensions, staged, renewed_to, calibration, co_occurs, ids, vector_sets, has_acl, newest
MATCH (c:Corpus)
WHERE c.arriving IS NULL
CALL (c) {
  MATCH (x:Change)
  WHERE x.corpus = c.name AND x.state = 'staged'
  WITH x ORDER BY x.place, x.id
  RETURN collect(x.id) AS staged
}
RETURN c.name AS name, c.version AS version, c.stamp AS stamp, c.embedding AS embedding, c.dimensions AS dimensions, staged,
  c.renewed_to AS renewed_to, c.calibration AS calibration, c.co_occurs AS co_occurs,
  coalesce(c.ids, 1) AS ids, c.vector_sets AS vector_sets,
  EXISTS { MATCH (s:Source) WHERE s.corpus = c.name AND s.has_acl IS NOT NULL } AS has_acl, COLLECT { MATCH (m:Migration) RETURN max(m.version) }[0] AS newest ORDER BY name
