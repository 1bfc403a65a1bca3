// The summaries of a run and the hashes of their inputs, by id.
// params: run
// columns: id, input_hash
MATCH (s:Summary)
WHERE s.run = $run AND s.id >= ''
RETURN s.id AS id, s.input_hash AS input_hash ORDER BY s.run, s.id
