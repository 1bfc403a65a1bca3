// The communities of a run, by id, and the present number of members of each.
// params: run
// columns: id, size
MATCH (c:Community)
WHERE c.run = $run AND c.id >= ''
RETURN c.id AS id, c.size AS size ORDER BY c.run, c.id
