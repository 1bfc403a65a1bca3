// The summaries of a run, by id.
// params: run
// columns: id
MATCH (s:Summary)
WHERE s.run = $run AND s.id >= ''
RETURN s.id AS id ORDER BY s.run, s.id
