// Communities whose parent is not on the next level of the same run.
// params: -
// columns: wrong
MATCH (c:Community)-[:PART_OF]->(p:Community)
WHERE p.level <> c.level + 1 OR coalesce(p.run, '') <> coalesce(c.run, '')
RETURN count(c) AS wrong
