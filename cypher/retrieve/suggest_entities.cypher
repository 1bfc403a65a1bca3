// The entities of a corpus that best match each of some Lucene queries, with all their names.
// params: corpus, phrases, k
// columns: phrase, id, name, aliases
UNWIND range(0, size($phrases) - 1) AS phrase
CALL (phrase) {
  CALL db.index.fulltext.queryNodes('hlgraph_entity_names', $phrases[phrase]) YIELD node, score
  WITH node AS e, score WHERE e.corpus = $corpus
  RETURN e, score ORDER BY score DESC, e.id LIMIT $k
}
RETURN phrase AS phrase, e.id AS id, e.name AS name, e.aliases AS aliases ORDER BY phrase, score DESC, id
