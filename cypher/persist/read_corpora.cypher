// All corpora: version, embedding model, staged changes, oldest first, how far topics of an older version are renewed,
// and the scale of the cosines.
// params: -
// columns: name, version, embedding, dimensions, staged, renewed_to, calibration
MATCH (c:Corpus)
CALL (c) {
  MATCH (x:Change)
  WHERE x.corpus = c.name AND x.state = 'staged'
  WITH x ORDER BY x.place, x.id
  RETURN collect(x.id) AS staged
}
RETURN c.name AS name, c.version AS version, c.embedding AS embedding, c.dimensions AS dimensions, staged,
  c.renewed_to AS renewed_to, c.calibration AS calibration ORDER BY name
