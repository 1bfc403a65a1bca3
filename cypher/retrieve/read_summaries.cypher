// The summaries of a run, with the vectors of their texts and what their words are from.
// params: run
// columns: id, text, level, input_hash, community, vector, parts
MATCH (s:Summary)
WHERE s.run = $run AND s.id >= ''
MATCH (s)-[:SUMMARISES]->(c:Community)
RETURN s.id AS id, s.text AS text, s.level AS level, s.input_hash AS input_hash, c.id AS community, s.vector AS vector,
  [(s)-[:RESTS_ON]->(n) | n.id] AS parts ORDER BY id
