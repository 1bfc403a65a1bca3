// IN_CHUNK of new topics: the ends by the integers of their element ids, then the spelling of the chunk.
// params: rows, prefix
// columns: -
UNWIND $rows AS row
MATCH (a)
WHERE elementId(a) = $prefix + toString(row[0])
CALL (row) {
  MATCH (b)
  WHERE elementId(b) = $prefix + toString(row[1])
  RETURN b
}
CREATE (a)-[:IN_CHUNK {name: row[2]}]->(b)
