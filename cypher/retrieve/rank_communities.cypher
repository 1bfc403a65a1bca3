// The communities of a run (of one level; -1: of all), the finest level first, and in it the largest.
// params: run, level, k, skip
// columns: id, level, size, parent_id
MATCH (c:Community)
WHERE c.run = $run AND c.id >= '' AND ($level = -1 OR c.level = $level)
WITH c ORDER BY c.level, c.size DESC, c.id SKIP $skip LIMIT $k
OPTIONAL MATCH (c)-[:PART_OF]->(p:Community)
RETURN c.id AS id, c.level AS level, c.size AS size, p.id AS parent_id ORDER BY level, size DESC, id
