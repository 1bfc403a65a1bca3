// All corpora: version, embedding model, staged changes, oldest first, and how far topics of an older version are renewed.
// params: -
// columns: name, version, embedding, dimensions, staged, renewed_to
MATCH (c:Corpus)
CALL (c) {
  MATCH (x:Change)
  WHERE x.corpus = c.name AND x.state = 'staged'
  WITH x ORDER BY x.place, x.id
  RETURN collect(x.id) AS staged
}
RETURN c.name AS name, c.version AS version, c.embedding AS embedding, c.dimensions AS dimensions, staged,
  c.renewed_to AS renewed_to ORDER BY name
