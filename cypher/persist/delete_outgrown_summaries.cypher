// Removes the summaries of those of some sources that have a new chunk; returns their number.
// params: ids
// columns: removed
UNWIND $ids AS id
MATCH (x:Source {id: id})<-[:SUMMARISES]-(s:Summary)
WHERE EXISTS { MATCH (x)<-[:FROM_SOURCE]-(c:Chunk) WHERE NOT EXISTS { (s)-[:RESTS_ON]->(c) } }
DETACH DELETE s
RETURN count(*) AS removed
