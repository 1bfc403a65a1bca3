// Records the last receipt of a deletion from a corpus, replacing the previous one.
// params: corpus, number, hash
// columns: -
MERGE (r:Receipt {corpus: $corpus})
SET r.number = $number, r.hash = $hash
