// What a corpus is about, as prompts name it; no row where nobody said so.
// params: corpus
// columns: kinds, topics, made_by
MATCH (d:Domain {corpus: $corpus})
RETURN d.kinds AS kinds, d.topics AS topics, d.made_by AS made_by
