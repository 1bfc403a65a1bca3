// The other names of an entity. Its own names with the number of mentions of each, and the entities with similar names (SYNONYM)
// with the similarity.
// params: corpus, entity, where, kinds, k
// columns: name, relation, number, entity_id
// $corpus text = default: the corpus
// $entity entity: the entity
// $where filter = "": only names in sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities with similar names of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_synonyms --entity Kestrin
MATCH (e:Entity {id: $entity, corpus: $corpus})
CALL (e) {
  UNWIND CASE WHEN $where IS NULL THEN range(0, size(coalesce(e.name_surfaces, [])) - 1) ELSE [] END AS i
  WITH e.name_surfaces[i] AS name, sum(e.name_counts[i]) AS number
  RETURN name, 'alias, mentions' AS relation, toFloat(number) AS number, e.id AS entity_id
UNION ALL
  MATCH (e)<-[m:MENTIONS]-(s:Statement)
  WHERE $where IS NOT NULL AND (s.source_id IN $where.listed) = $where.admits
  UNWIND m.surfaces AS name
  WITH e, name, count(*) AS number
  RETURN name, 'alias, mentions' AS relation, toFloat(number) AS number, e.id AS entity_id
UNION ALL
  MATCH (e)-[r:SYNONYM]-(o:Entity)
  WHERE (size($kinds) = 0 OR o.kind IN $kinds) AND ($where IS NULL OR EXISTS {
    MATCH (o)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
  RETURN o.name AS name, 'synonym, similarity' AS relation, r.similarity AS number, o.id AS entity_id
}
RETURN name AS name, relation AS relation, number AS number, entity_id AS entity_id
ORDER BY relation, number DESC, name, entity_id LIMIT $k
