// Deletes records of a hidden corpus, up to a number of each kind; returns their number.
// params: name, size
// columns: dropped
MATCH (x:Corpus {name: $name})
WHERE x.arriving IS NOT NULL
CALL (x) {
  MATCH (n:Chunk) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Statement) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Topic) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Fact) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Entity) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Source) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Community) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Summary) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:HiddenCommunity) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:HiddenSummary) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Run) WHERE n.corpus = x.name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (x)-[:CHANGED]->(n:ImageChange)
  RETURN n LIMIT $size
}
DETACH DELETE n
RETURN count(*) AS dropped
