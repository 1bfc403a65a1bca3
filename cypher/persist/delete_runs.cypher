// Removes the runs of a corpus that have no communities left; a run of one layer, which has none, goes with the last chunk.
// params: corpus
// columns: -
MATCH (r:Run)
WHERE r.corpus = $corpus AND r.id >= '' AND NOT EXISTS { MATCH (c:Community) WHERE c.run = r.id AND c.id >= '' }
  AND (r.levels > 0 OR NOT EXISTS { MATCH (c:Chunk) WHERE c.corpus = $corpus AND c.id >= '' })
DETACH DELETE r
