// Removes chunks and their remaining relationships.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (n:Chunk {id: id})
DETACH DELETE n
