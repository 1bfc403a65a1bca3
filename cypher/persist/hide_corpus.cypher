// Hides a corpus that has nothing, or creates it hidden, for an import: no other query finds it. It has one set of vectors, as a new
// one. A second time it changes nothing.
// params: name, arrival, ids, version
// columns: -
MERGE (c:Corpus {name: $name})
ON CREATE SET c.version = 0, c.stamp = randomUUID(), c.embedding = '', c.dimensions = 0
SET c.version = CASE WHEN c.version < $version THEN $version ELSE c.version END, c.ids = $ids, c.vector_sets = NULL,
  c.arrived = CASE WHEN c.arriving = $arrival THEN c.arrived ELSE 0 END, c.arriving = $arrival
