// The version of a corpus, after the edges of a pull; columns as of induce_chunks.
// params: corpus
// columns: relationship, starts, stops, weights, version
MATCH (c:Corpus {name: $corpus})
RETURN null AS relationship, null AS starts, null AS stops, null AS weights, c.version AS version
