// Removes the runs of a corpus that have no communities left.
// params: corpus
// columns: -
MATCH (r:Run)
WHERE r.corpus = $corpus AND r.id >= '' AND NOT EXISTS { MATCH (c:Community) WHERE c.run = r.id AND c.id >= '' }
DETACH DELETE r
