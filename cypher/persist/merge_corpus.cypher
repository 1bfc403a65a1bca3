// Creates the corpus of a change, or raises its version, with a mark that no other state has, and keeps the mark of the state
// before; a change with vectors binds it to their model.
// params: name, ids, embedding, dimensions
// columns: -
MERGE (c:Corpus {name: $name})
ON CREATE SET c.ids = $ids
SET c.before = c.stamp, c.version = coalesce(c.version, 0) + 1, c.stamp = randomUUID(),
    c.embedding = CASE WHEN $embedding = '' THEN coalesce(c.embedding, '') ELSE $embedding END,
    c.dimensions = CASE WHEN $embedding = '' THEN coalesce(c.dimensions, 0) ELSE $dimensions END
