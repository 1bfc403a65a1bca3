// The runs derived from a corpus, and its present version.
// params: corpus
// columns: name, version, parameters, levels, by, stamp, corpus_version
MATCH (x:Corpus {name: $corpus})
CALL (x) {
  MATCH (r:Run)
  WHERE r.corpus = $corpus AND r.id >= ''
  RETURN r
}
RETURN r.name AS name, r.version AS version, r.parameters AS parameters, r.levels AS levels, r.by AS by,
  coalesce(r.stamp, '') AS stamp, x.version AS corpus_version ORDER BY name
