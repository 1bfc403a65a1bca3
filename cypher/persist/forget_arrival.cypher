// Deletes a hidden corpus that has no records any more.
// params: name
// columns: -
MATCH (c:Corpus {name: $name})
WHERE c.arriving IS NOT NULL
DETACH DELETE c
