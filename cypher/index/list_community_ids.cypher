// The communities of a run, by id.
// params: run
// columns: id
MATCH (c:Community)
WHERE c.run = $run AND c.id >= ''
RETURN c.id AS id ORDER BY c.run, c.id
