// The domain of a corpus, for prompts; no row if it has none.
// params: corpus
// columns: kinds, topics, made_by
MATCH (d:Domain {corpus: $corpus})
RETURN d.kinds AS kinds, d.topics AS topics, d.made_by AS made_by
