// Removes chunks and what still joins them.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (n:Chunk {id: id})
DETACH DELETE n
