// Creates the corpus of a change, or raises its version; a change with vectors binds it to their model.
// params: name, embedding, dimensions
// columns: -
MERGE (c:Corpus {name: $name})
SET c.version = coalesce(c.version, 0) + 1,
    c.embedding = CASE WHEN $embedding = '' THEN coalesce(c.embedding, '') ELSE $embedding END,
    c.dimensions = CASE WHEN $embedding = '' THEN coalesce(c.dimensions, 0) ELSE $dimensions END
