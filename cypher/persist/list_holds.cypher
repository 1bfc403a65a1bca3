// The holds on sources of a corpus, by name; a deletion and an edit read them first.
// params: corpus
// columns: name, uris, filter, ids, at
MATCH (h:Hold {corpus: $corpus})
RETURN h.name AS name, h.uris AS uris, h.filter AS filter, h.ids AS ids, h.at AS at ORDER BY name
