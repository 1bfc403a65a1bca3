// What two entities have in common. Facts with the same predicate and object, other entities that stand in facts with both, and
// sources that mention both; in this order, those with the most facts or statements first.
// params: corpus, first, second, where, kinds, k
// columns: relation, name, of_first, of_second, id
// $corpus text = default: the corpus
// $first entity: an entity
// $second entity: another entity
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities in common, objects included, of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run compare_entities --first "Jonas Querl" --second "Bertil Ardoyne"
MATCH (a:Entity {id: $first, corpus: $corpus})
CALL (a) {
  MATCH (b:Entity {id: $second, corpus: $corpus})
  RETURN b
}
WITH a, b WHERE a <> b
CALL (a, b) {
  UNWIND [a, b] AS x
  MATCH (x)-[:SUBJECT]->(f:Fact)
  WHERE ($where IS NULL OR EXISTS {
    MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
  OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
  WITH a, b, x, f, o WHERE size($kinds) = 0 OR o.kind IN $kinds
  WITH toLower(f.predicate) AS predicate, coalesce(o.id, toLower(f.complement)) AS object, coalesce(o.name, f.complement) AS said,
    f.id AS id, x = a AS is_first ORDER BY id
  WITH predicate, object, head(collect(said)) AS said, head(collect(id)) AS id, count(CASE WHEN is_first THEN 1 END) AS of_first,
    count(CASE WHEN NOT is_first THEN 1 END) AS of_second
  RETURN 1 AS place, 'same fact' AS relation, predicate + ' ' + said AS name, of_first, of_second, id
UNION ALL
  UNWIND [a, b] AS x
  MATCH (x)-[:SUBJECT|OBJECT]->(f:Fact)<-[:SUBJECT|OBJECT]-(o:Entity)
  WHERE o <> a AND o <> b AND (size($kinds) = 0 OR o.kind IN $kinds) AND ($where IS NULL OR EXISTS {
    MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
  RETURN 2 AS place, 'facts with both' AS relation, o.name AS name, count(DISTINCT CASE WHEN x = a THEN f END) AS of_first,
    count(DISTINCT CASE WHEN x = b THEN f END) AS of_second, o.id AS id
UNION ALL
  UNWIND [a, b] AS x
  MATCH (x)<-[:MENTIONS]-(s:Statement)
  WHERE size($kinds) = 0 AND ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  WITH s.source_id AS source_id, count(CASE WHEN x = a THEN 1 END) AS of_first, count(CASE WHEN x = b THEN 1 END) AS of_second
  WHERE of_first > 0 AND of_second > 0
  MATCH (d:Source {id: source_id})
  RETURN 3 AS place, 'mentioned in' AS relation, d.title AS name, of_first, of_second, d.id AS id
}
WITH place, relation, name, of_first, of_second, id WHERE of_first > 0 AND of_second > 0
RETURN relation AS relation, name AS name, of_first AS of_first, of_second AS of_second, id AS id
ORDER BY place, of_first + of_second DESC, name, id LIMIT $k
