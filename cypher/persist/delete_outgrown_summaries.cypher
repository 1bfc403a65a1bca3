// Removes the summaries of the given sources that have a new chunk; returns their number. Those of large chunks stay.
// params: ids
// columns: removed
UNWIND $ids AS id
MATCH (x:Source {id: id})<-[:SUMMARISES]-(s:Summary)
WHERE s.level = -1 AND EXISTS { MATCH (x)<-[:FROM_SOURCE]-(c:Chunk) WHERE NOT EXISTS { (s)-[:RESTS_ON]->(c) } }
DETACH DELETE s
RETURN count(*) AS removed
