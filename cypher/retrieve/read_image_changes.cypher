// What the changes after a version did to the graph of a corpus, the oldest first: the version and the stamp that each made, and
// the stamp before it.
// params: corpus, after
// columns: version, before, stamp, list
MATCH (:Corpus {name: $corpus})-[:CHANGED]->(x:ImageChange)
WHERE x.version > $after
RETURN x.version AS version, x.before AS before, x.stamp AS stamp, x.list AS list ORDER BY version
