// What a corpus is about, in the place of what was said before.
// params: corpus, kinds, topics, made_by
// columns: -
MERGE (d:Domain {corpus: $corpus})
SET d.kinds = $kinds, d.topics = $topics, d.made_by = $made_by
