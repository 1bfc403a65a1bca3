// One page of the ids of the entities of a corpus after a given one, in order, that a statement of an admitted source mentions.
// params: lists, corpus, admits, after, size
// columns: id
MATCH (n:Entity)
WHERE n.corpus = $corpus AND n.id > $after
  AND EXISTS { MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits }
RETURN n.id AS id ORDER BY n.corpus, n.id LIMIT $size
