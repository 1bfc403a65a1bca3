// Sources by id.
// params: ids
// columns: id, corpus, uri, title, checksum, metadata, version, valid_from, valid_to
UNWIND $ids AS id
MATCH (n:Source {id: id})
RETURN id, n.corpus AS corpus, n.uri AS uri, n.title AS title, n.checksum AS checksum, n.metadata AS metadata,
  n.version AS version, n.valid_from AS valid_from, n.valid_to AS valid_to
