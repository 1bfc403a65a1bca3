// Sets the domain of a corpus, replacing the previous one.
// params: corpus, kinds, topics, made_by
// columns: -
MERGE (d:Domain {corpus: $corpus})
SET d.kinds = $kinds, d.topics = $topics, d.made_by = $made_by
