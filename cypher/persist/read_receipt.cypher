// The number and the hash of the last receipt of a deletion from a corpus; no row if there is none.
// params: corpus
// columns: number, hash
MATCH (r:Receipt {corpus: $corpus})
RETURN r.number AS number, r.hash AS hash
