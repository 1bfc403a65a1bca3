// OBJECT of new facts: the ends by the integers of their element ids.
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
CREATE (a)-[:OBJECT]->(b)
