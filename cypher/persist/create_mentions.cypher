// MENTIONS of new statements: the ends by the integers of their element ids, then chunks, surfaces and kinds, see link_mentions.
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
CREATE (a)-[:MENTIONS {chunks: row[2], surfaces: row[3], kinds: row[4]}]->(b)
