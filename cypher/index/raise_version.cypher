// Raises the version of a corpus by one, with a mark that no other state has, and keeps the mark of the state before.
// params: name
// columns: version
MATCH (c:Corpus {name: $name})
SET c.before = c.stamp, c.version = c.version + 1, c.stamp = randomUUID()
RETURN c.version AS version
