// A corpus, one version further.
// params: name
// columns: version
MATCH (c:Corpus {name: $name})
SET c.version = c.version + 1
RETURN c.version AS version
