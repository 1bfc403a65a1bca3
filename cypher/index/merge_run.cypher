// Replaces the run of the same name; no row if the corpus has another version by now.
// params: id, corpus, version, properties
// columns: id
MATCH (x:Corpus {name: $corpus})
WHERE x.version = $version
MERGE (r:Run {id: $id})
SET r += $properties
RETURN r.id AS id
