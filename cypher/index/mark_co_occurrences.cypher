// Marks the version of a corpus for which CO_OCCURS is stored; 0: it is being written; null: it is not stored.
// params: corpus, version
// columns: name
MATCH (c:Corpus {name: $corpus})
SET c.co_occurs = $version
RETURN c.name AS name
