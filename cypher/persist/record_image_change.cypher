// Records what the change that made the present version of a corpus did to its graph, and forgets what older changes did. The list
// is empty if the change has none.
// params: name, list, kept
// columns: -
MATCH (c:Corpus {name: $name})
CALL (c) {
  MATCH (c)-[:CHANGED]->(x:ImageChange)
  WHERE x.version <= c.version - $kept
  DETACH DELETE x
}
CREATE (c)-[:CHANGED]->(:ImageChange {version: c.version, before: coalesce(c.before, ''), stamp: c.stamp, list: $list})
