// For each of some phrases in the language of Lucene the entities of a corpus that fit best, with all their names.
// params: corpus, phrases, k
// columns: phrase, id, name, aliases
UNWIND range(0, size($phrases) - 1) AS phrase
CALL (phrase) {
  CALL db.index.fulltext.queryNodes('hlgraph_entity_names', $phrases[phrase]) YIELD node, score
  WITH node AS e, score WHERE e.corpus = $corpus
  RETURN e, score ORDER BY score DESC, e.id LIMIT $k
}
RETURN phrase AS phrase, e.id AS id, e.name AS name, e.aliases AS aliases ORDER BY phrase, score DESC, id
