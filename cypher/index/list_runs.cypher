// What was derived from a corpus, run by run, and whether the corpus has changed since.
// params: corpus
// columns: name, version, parameters, levels, by, is_stale
MATCH (x:Corpus {name: $corpus})
CALL (x) {
  MATCH (r:Run)
  WHERE r.corpus = $corpus AND r.id >= ''
  RETURN r
}
RETURN r.name AS name, r.version AS version, r.parameters AS parameters, r.levels AS levels, r.by AS by,
  r.version <> x.version AS is_stale ORDER BY name
