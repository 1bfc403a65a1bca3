// The communities of a run that have any of these statements as members, the coarsest level first.
// params: run, ids
// columns: id, level, size, member
UNWIND $ids AS member
MATCH (s:Statement {id: member})-[:MEMBER_OF]->(c:Community)
WHERE c.run = $run
RETURN c.id AS id, c.level AS level, c.size AS size, member AS member ORDER BY level DESC, id, member
