// Statements, their entities and, on request, their topics around some ids: at most four breadth-first steps, and all edges
// between the nodes reached, as by expand_frontier and induce_edges for each step, in one round trip. Beams over statements ask
// for a pull of this shape. Each step takes, for every node of the frontier, the first neighbours by id that may be seen and
// were not reached before. Edges are grouped by the entity or topic in which they end: its id, and the positions of the
// statements in which they start. The version of the corpus is read before everything else, and again after it.
// params: corpus, ids, has_topics, hops, fan_out, node_cap, has_scope, listed, admits
// columns: version, is_cut, statements, entities, topics, stops, starts, version_after
MATCH (c:Corpus {name: $corpus})
WITH c.version AS version
CALL (version) {
  UNWIND $ids AS id
  MATCH (n:Statement {id: id})
  RETURN n
  UNION ALL
  UNWIND $ids AS id
  MATCH (n:Entity {id: id})
  RETURN n
  UNION ALL
  UNWIND CASE WHEN $has_topics THEN $ids ELSE [] END AS id
  MATCH (n:Topic {id: id})
  RETURN n
  UNION ALL
  RETURN null AS n
}
WITH version, n WHERE n IS NULL OR (n.corpus = $corpus AND (NOT $has_scope
  OR (NOT n:Entity AND (n.source_id IN $listed) = $admits)
  OR (n:Entity AND EXISTS { MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits })))
WITH version, n ORDER BY n.id
WITH version, collect(n) AS found
WITH version, found[..$node_cap] AS reached, size(found) > $node_cap AS is_cut
WITH version, reached, is_cut, CASE WHEN $hops >= 1 THEN reached ELSE [] END AS frontier
CALL (reached, frontier) {
  UNWIND frontier AS n
  MATCH (n)-[:MENTIONS|ABOUT]-(m)
  WHERE ($has_topics OR NOT m:Topic) AND NOT m IN reached
    AND (NOT $has_scope OR (NOT m:Entity AND (m.source_id IN $listed) = $admits)
      OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }))
  WITH n, m ORDER BY m.id
  WITH n, collect(m) AS near
  WITH near[..$fan_out] AS first, size(near) > $fan_out AS is_more
  UNWIND first AS m
  WITH m, max(is_more) AS is_more ORDER BY m.id
  RETURN collect(m) AS found, coalesce(max(is_more), false) AS is_more
}
WITH version, reached, found[..$node_cap - size(reached)] AS next,
  is_cut OR is_more OR size(found) > $node_cap - size(reached) AS is_cut
WITH version, reached + next AS reached, is_cut, CASE WHEN $hops >= 2 THEN next ELSE [] END AS frontier
CALL (reached, frontier) {
  UNWIND frontier AS n
  MATCH (n)-[:MENTIONS|ABOUT]-(m)
  WHERE ($has_topics OR NOT m:Topic) AND NOT m IN reached
    AND (NOT $has_scope OR (NOT m:Entity AND (m.source_id IN $listed) = $admits)
      OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }))
  WITH n, m ORDER BY m.id
  WITH n, collect(m) AS near
  WITH near[..$fan_out] AS first, size(near) > $fan_out AS is_more
  UNWIND first AS m
  WITH m, max(is_more) AS is_more ORDER BY m.id
  RETURN collect(m) AS found, coalesce(max(is_more), false) AS is_more
}
WITH version, reached, found[..$node_cap - size(reached)] AS next,
  is_cut OR is_more OR size(found) > $node_cap - size(reached) AS is_cut
WITH version, reached + next AS reached, is_cut, CASE WHEN $hops >= 3 THEN next ELSE [] END AS frontier
CALL (reached, frontier) {
  UNWIND frontier AS n
  MATCH (n)-[:MENTIONS|ABOUT]-(m)
  WHERE ($has_topics OR NOT m:Topic) AND NOT m IN reached
    AND (NOT $has_scope OR (NOT m:Entity AND (m.source_id IN $listed) = $admits)
      OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }))
  WITH n, m ORDER BY m.id
  WITH n, collect(m) AS near
  WITH near[..$fan_out] AS first, size(near) > $fan_out AS is_more
  UNWIND first AS m
  WITH m, max(is_more) AS is_more ORDER BY m.id
  RETURN collect(m) AS found, coalesce(max(is_more), false) AS is_more
}
WITH version, reached, found[..$node_cap - size(reached)] AS next,
  is_cut OR is_more OR size(found) > $node_cap - size(reached) AS is_cut
WITH version, reached + next AS reached, is_cut, CASE WHEN $hops >= 4 THEN next ELSE [] END AS frontier
CALL (reached, frontier) {
  UNWIND frontier AS n
  MATCH (n)-[:MENTIONS|ABOUT]-(m)
  WHERE ($has_topics OR NOT m:Topic) AND NOT m IN reached
    AND (NOT $has_scope OR (NOT m:Entity AND (m.source_id IN $listed) = $admits)
      OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }))
  WITH n, m ORDER BY m.id
  WITH n, collect(m) AS near
  WITH near[..$fan_out] AS first, size(near) > $fan_out AS is_more
  UNWIND first AS m
  WITH m, max(is_more) AS is_more ORDER BY m.id
  RETURN collect(m) AS found, coalesce(max(is_more), false) AS is_more
}
WITH version, reached + found[..$node_cap - size(reached)] AS reached,
  is_cut OR is_more OR size(found) > $node_cap - size(reached) AS is_cut
WITH version, is_cut, reached, [n IN reached WHERE n:Statement] AS statements
CALL (reached, statements) {
  UNWIND range(0, size(statements) - 1) AS start
  WITH start, statements[start] AS n
  MATCH (n)-[:MENTIONS|ABOUT]->(m)
  WHERE m IN reached
  WITH m, collect(start) AS starts
  RETURN collect(m.id) AS stops, collect(starts) AS starts
}
WITH *, $corpus AS corpus
MATCH (c:Corpus {name: corpus})
RETURN version, is_cut, [n IN statements | n.id] AS statements, [n IN reached WHERE n:Entity | n.id] AS entities,
  [n IN reached WHERE n:Topic | n.id] AS topics, stops, starts, c.version AS version_after
