// Raises the version of a corpus by one, with a mark that no other state has.
// params: name
// columns: version
MATCH (c:Corpus {name: $name})
SET c.version = c.version + 1, c.stamp = randomUUID()
RETURN c.version AS version
