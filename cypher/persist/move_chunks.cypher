// Moves kept chunks to their new position in an edited source.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (n:Chunk {id: row.chunk_id})
SET n.start = row.start, n.end = row.end, n.position = row.position, n.page = row.page
