// Makes another set of vectors current, in a corpus that still has the given version: its model, the scale of its cosines, and the
// sets as JSON. The corpus gets its next version, as in raise_version. No row: the version is another one.
// params: name, version, embedding, dimensions, calibration, sets
// columns: version
MATCH (c:Corpus {name: $name})
WHERE c.version = $version
SET c.before = c.stamp, c.version = c.version + 1, c.stamp = randomUUID(), c.embedding = $embedding,
    c.dimensions = $dimensions, c.calibration = $calibration, c.vector_sets = $sets
RETURN c.version AS version
