// The number of communities of a run (of one level; -1: of all).
// params: run, level
// columns: total
MATCH (c:Community)
WHERE c.run = $run AND c.id >= '' AND ($level = -1 OR c.level = $level)
RETURN count(c) AS total
