// Makes a corpus visible whose nodes were imported from files, and forgets the load; a second time it changes nothing.
// params: load, name, ids, version, embedding, dimensions, calibration
// columns: -
MATCH (l:BulkLoad {id: $load})
DELETE l
MERGE (c:Corpus {name: $name})
SET c.ids = $ids, c.version = $version, c.stamp = $load, c.embedding = $embedding, c.dimensions = $dimensions, c.calibration = $calibration
