// Writes a hold on sources of a corpus.
// params: id, corpus, name, uris, filter, ids, at
// columns: -
MERGE (h:Hold {id: $id})
SET h.corpus = $corpus, h.name = $name, h.uris = $uris, h.filter = $filter, h.ids = $ids, h.at = $at
