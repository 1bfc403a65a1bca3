// Raises the version of a corpus by one.
// params: name
// columns: version
MATCH (c:Corpus {name: $name})
SET c.version = c.version + 1
RETURN c.version AS version
