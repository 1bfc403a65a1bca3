// All corpora: version, embedding model, and staged changes, oldest first.
// params: -
// columns: name, version, embedding, dimensions, staged
MATCH (c:Corpus)
CALL (c) {
  MATCH (x:Change)
  WHERE x.corpus = c.name AND x.state = 'staged'
  WITH x ORDER BY x.place, x.id
  RETURN collect(x.id) AS staged
}
RETURN c.name AS name, c.version AS version, c.embedding AS embedding, c.dimensions AS dimensions, staged ORDER BY name
