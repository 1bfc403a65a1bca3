// Records what the change that made the present version of a corpus did to its graph, and forgets what older changes did. The list
// is empty if the change has none. Nothing is kept of a corpus without sources.
// params: name, list, kept
// columns: -
MATCH (c:Corpus {name: $name})
WITH c, EXISTS { MATCH (s:Source) WHERE s.corpus = $name AND s.id >= '' } AS has_sources
CALL (c, has_sources) {
  MATCH (c)-[:CHANGED]->(x:ImageChange)
  WHERE NOT has_sources OR x.version <= c.version - $kept
  DETACH DELETE x
}
CREATE (c)-[:CHANGED]->(x:ImageChange {version: c.version, before: coalesce(c.before, ''), stamp: c.stamp})
SET x.list = CASE WHEN has_sources THEN $list END
