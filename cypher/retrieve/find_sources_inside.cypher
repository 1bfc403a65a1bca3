// The sources of a corpus whose URI begins with one of some texts.
// params: corpus, prefixes
// columns: id
UNWIND $prefixes AS prefix
MATCH (n:Source) WHERE n.uri STARTS WITH prefix AND n.corpus = $corpus
RETURN DISTINCT n.id AS id
