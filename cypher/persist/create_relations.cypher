// RELATES of new facts: the ends by the integers of their element ids, then the predicate and the number of statements.
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
CREATE (a)-[:RELATES {predicate: row[2], facts: row[3]}]->(b)
