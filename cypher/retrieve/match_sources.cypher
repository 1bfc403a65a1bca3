// The sources of a corpus whose id, title, URI, or end of the URI after a '/' is one of some names (in lower case). Reads every
// source of the corpus.
// params: corpus, names, k
// columns: id, title, uri
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= ''
WITH d, toLower(d.uri) AS uri
WHERE d.id IN $names OR toLower(d.title) IN $names OR any(name IN $names WHERE uri = name OR uri ENDS WITH '/' + name)
RETURN d.id AS id, d.title AS title, d.uri AS uri ORDER BY id LIMIT $k
