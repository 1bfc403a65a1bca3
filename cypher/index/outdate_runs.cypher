// Notes in the parameters of the runs of a corpus by which vectors they were derived, so that the next build of a hierarchy
// clusters everything again.
// params: corpus, embedding
// columns: -
MATCH (r:Run)
WHERE r.corpus = $corpus
SET r.parameters = r.parameters + ' vectors=' + $embedding
