// IN_CHUNK of new statements: the ends by the integers of their element ids, then the place and the details.
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
CREATE (a)-[:IN_CHUNK {ordinal: row[2], start: row[3], end: row[4], details: row[5]}]->(b)
