// The other names of an entity. Its own names with the number of mentions of each, and the entities with similar names (SYNONYM)
// with the similarity.
// params: corpus, entity, k
// columns: name, relation, number, entity_id
// $corpus text = default: the corpus
// $entity entity: the entity
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_synonyms --entity Kestrin
MATCH (e:Entity {id: $entity, corpus: $corpus})
CALL (e) {
  UNWIND range(0, size(coalesce(e.name_surfaces, [])) - 1) AS i
  WITH e.name_surfaces[i] AS name, sum(e.name_counts[i]) AS number
  RETURN name, 'alias, mentions' AS relation, toFloat(number) AS number, e.id AS entity_id
UNION ALL
  MATCH (e)-[r:SYNONYM]-(o:Entity)
  RETURN o.name AS name, 'synonym, similarity' AS relation, r.similarity AS number, o.id AS entity_id
}
RETURN name AS name, relation AS relation, number AS number, entity_id AS entity_id
ORDER BY relation, number DESC, name, entity_id LIMIT $k
