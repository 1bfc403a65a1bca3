// Two breadth-first steps over statements, their entities and, on request, their topics, and all edges between the nodes
// reached, in one round trip: what a beam over statements asks for. A step takes, for every node of the frontier, the first
// neighbours by id that may be seen and were not reached before. A pull of more steps goes on from the frontier that the query
// before it returned, with all ids so far; only the last returns edges. They are grouped by the entity or topic in which they
// end: its id, and the positions of the statements in which they start. The version of the corpus is read first, and again last.
// params: lists, corpus, steps, is_last, has_topics, fan_out, node_cap, has_scope, admits
// columns: version, is_cut, statements, entities, topics, frontier, stops, starts, version_after
MATCH (c:Corpus {name: $corpus})
WITH c.version AS version
CALL (version) {
  UNWIND $lists.ids AS id
  MATCH (n:Statement {id: id})
  WHERE n.corpus = $corpus AND (NOT $has_scope OR (n.source_id IN $lists.listed) = $admits)
  RETURN n
  UNION ALL
  UNWIND $lists.ids AS id
  MATCH (n:Entity {id: id})
  WHERE n.corpus = $corpus
    AND (NOT $has_scope OR EXISTS { MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits })
  RETURN n
  UNION ALL
  UNWIND CASE WHEN $has_topics THEN $lists.ids ELSE [] END AS id
  MATCH (n:Topic {id: id})
  WHERE n.corpus = $corpus AND (NOT $has_scope OR (n.source_id IN $lists.listed) = $admits)
  RETURN n
  UNION ALL
  RETURN null AS n
}
WITH version, n ORDER BY n.id
WITH version, collect(n) AS found
WITH version, found[..$node_cap] AS reached, size(found) > $node_cap AS is_cut
WITH *, CASE WHEN $steps < 1 THEN [] WHEN $lists.frontier IS NULL THEN reached ELSE [n IN reached WHERE n.id IN $lists.frontier] END AS frontier
CALL (reached, frontier) {
  UNWIND frontier AS n
  MATCH (n)-[:MENTIONS|ABOUT]-(m)
  WHERE ($has_topics OR NOT m:Topic) AND NOT m IN reached AND (NOT $has_scope OR m:Entity OR (m.source_id IN $lists.listed) = $admits)
  WITH n, m ORDER BY m.id
  WITH n, collect(m) AS near
  WITH near[..$fan_out] AS first, size(near) > $fan_out AS is_more
  UNWIND first AS m
  WITH m, max(is_more) AS is_more ORDER BY m.id
  RETURN collect(m) AS found, coalesce(max(is_more), false) AS is_more
}
WITH version, reached, found[..$node_cap - size(reached)] AS next, is_cut OR is_more OR size(found) > $node_cap - size(reached) AS is_cut
WITH version, reached + next AS reached, is_cut, CASE WHEN $steps < 2 THEN [] ELSE next END AS frontier
CALL (reached, frontier) {
  UNWIND frontier AS n
  MATCH (n)-[:MENTIONS|ABOUT]-(m)
  WHERE ($has_topics OR NOT m:Topic) AND NOT m IN reached AND (NOT $has_scope OR m:Entity OR (m.source_id IN $lists.listed) = $admits)
  WITH n, m ORDER BY m.id
  WITH n, collect(m) AS near
  WITH near[..$fan_out] AS first, size(near) > $fan_out AS is_more
  UNWIND first AS m
  WITH m, max(is_more) AS is_more ORDER BY m.id
  RETURN collect(m) AS found, coalesce(max(is_more), false) AS is_more
}
WITH version, reached, found[..$node_cap - size(reached)] AS next, is_cut OR is_more OR size(found) > $node_cap - size(reached) AS is_cut
WITH version, reached + next AS reached, next, is_cut
WITH *, [n IN reached WHERE n:Statement] AS statements
CALL (reached, statements) {
  UNWIND CASE WHEN $is_last THEN range(0, size(statements) - 1) ELSE [] END AS start
  WITH start, statements[start] AS n
  MATCH (n)-[:MENTIONS|ABOUT]->(m)
  WHERE m IN reached
  WITH m, collect(start) AS starts
  RETURN collect(m.id) AS stops, collect(starts) AS starts
}
WITH *, $corpus AS corpus
MATCH (c:Corpus {name: corpus})
RETURN version, is_cut, [n IN statements | n.id] AS statements, [n IN reached WHERE n:Entity | n.id] AS entities,
  [n IN reached WHERE n:Topic | n.id] AS topics, [n IN next | n.id] AS frontier, stops, starts, c.version AS version_after
