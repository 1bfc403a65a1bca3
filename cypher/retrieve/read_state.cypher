// The state of a corpus: its version, and the mark of the change that made it, which no other state has. Corpora that an older
// hlgraph wrote last have no mark.
// params: corpus
// columns: version, stamp
MATCH (c:Corpus {name: $corpus})
WHERE c.arriving IS NULL
RETURN c.version AS version, c.stamp AS stamp
