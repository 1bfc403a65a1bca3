// Records the sets of vectors of a corpus, as JSON.
// params: name, sets
// columns: -
MATCH (c:Corpus {name: $name})
SET c.vector_sets = $sets
