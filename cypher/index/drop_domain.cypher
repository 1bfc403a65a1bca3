// Removes the domain of a corpus.
// params: corpus
// columns: -
MATCH (d:Domain {corpus: $corpus})
DELETE d
