// A run in the place of the one of its name; no row when the corpus is at another version by now.
// params: id, corpus, version, properties
// columns: id
MATCH (x:Corpus {name: $corpus})
WHERE x.version = $version
MERGE (r:Run {id: $id})
SET r += $properties
RETURN r.id AS id
