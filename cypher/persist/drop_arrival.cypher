// Deletes records of a hidden corpus, up to a number of each kind.
// params: name, size
// columns: dropped
MATCH (x:Corpus {name: $name})
WHERE x.arriving IS NOT NULL
CALL () {
  MATCH (n:Chunk) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Statement) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Topic) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Fact) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Entity) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Source) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Community) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Summary) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (n:Run) WHERE n.corpus = $name AND n.id >= ''
  RETURN n LIMIT $size
  UNION ALL
  MATCH (:Corpus {name: $name})-[:CHANGED]->(n:ImageChange)
  RETURN n LIMIT $size
}
DETACH DELETE n
RETURN count(*) AS dropped
