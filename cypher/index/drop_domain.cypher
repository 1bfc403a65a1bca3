// Removes what was said of what a corpus is about.
// params: corpus
// columns: -
MATCH (d:Domain {corpus: $corpus})
DELETE d
