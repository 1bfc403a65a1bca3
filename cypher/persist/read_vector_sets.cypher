// The sets of vectors of a corpus, as JSON, also of one that is hidden while it is imported.
// params: corpus
// columns: vector_sets
MATCH (c:Corpus {name: $corpus})
RETURN c.vector_sets AS vector_sets
