// Records up to which id the topics of a corpus are renewed; NULL: all are.
// params: name, renewed_to
// columns: -
MATCH (c:Corpus {name: $name})
SET c.renewed_to = $renewed_to
