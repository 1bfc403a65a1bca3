// What connects two entities: the steps of a shortest path between them. The path has at most $hops (and six) steps, along facts
// if such a path exists, else along common statements, else along common statements and chunks. Of several shortest paths (the
// first thousand found) it is the one whose entities have fewest facts, for those say most, and of equals the first by
// identifiers. Each step has the facts between its ends, each written as subject, predicate, object, the number of common chunks,
// and a statement that mentions both ends, if there is one. No row if nothing connects them.
// params: corpus, source, target, hops, where, kinds
// columns: step, start, end, facts, chunks, statement
// $corpus text = default: the corpus
// $source entity: where the path begins
// $target entity: where it ends
// $hops integer 1..6 = 4: maximum number of steps
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only paths through entities of these kinds, such as person, place; empty: all
// example: hlgraph cypher run what_connects --source "Emeric Vaude" --target "Isle of Gannow"
MATCH (a:Entity {id: $source, corpus: $corpus})
CALL (a) {
  MATCH (b:Entity {id: $target, corpus: $corpus})
  RETURN b
}
WITH a, b WHERE a <> b
CALL (a, b) {
  WITH a, b WHERE $where IS NULL
  MATCH path = allShortestPaths((a)-[:RELATES*..6]-(b))
  WHERE all(n IN nodes(path) WHERE n.id IN [$source, $target] OR (size($kinds) = 0 OR n.kind IN $kinds))
  RETURN path, 1 AS choice LIMIT 1000
UNION ALL
  WITH a, b WHERE $where IS NOT NULL
  MATCH path = allShortestPaths((a)-[:SUBJECT|OBJECT*..12]-(b))
  WHERE all(n IN nodes(path) WHERE CASE WHEN n:Fact THEN EXISTS {
      MATCH (n)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
    } ELSE n.id IN [$source, $target] OR (size($kinds) = 0 OR n.kind IN $kinds) END)
  RETURN path, 1 AS choice LIMIT 1000
UNION ALL
  MATCH path = allShortestPaths((a)-[:MENTIONS*..12]-(b))
  WHERE all(n IN nodes(path) WHERE CASE WHEN n:Statement THEN ($where IS NULL OR (n.source_id IN $where.listed) = $where.admits)
    ELSE n.id IN [$source, $target] OR (size($kinds) = 0 OR n.kind IN $kinds) END)
  RETURN path, 2 AS choice LIMIT 1000
UNION ALL
  MATCH path = allShortestPaths((a)-[:MENTIONS|IN_CHUNK*..24]-(b))
  WHERE all(n IN nodes(path) WHERE CASE WHEN n:Topic THEN false
    WHEN n:Entity THEN n.id IN [$source, $target] OR (size($kinds) = 0 OR n.kind IN $kinds)
    ELSE ($where IS NULL OR (n.source_id IN $where.listed) = $where.admits) AND (n:Chunk OR EXISTS {
      MATCH (n)-[:MENTIONS]->(e:Entity) WHERE e.id IN [$source, $target] OR size($kinds) = 0 OR e.kind IN $kinds
    }) END)
  RETURN path, 3 AS choice LIMIT 1000
}
WITH nodes(path) AS met, choice
WITH [i IN range(0, size(met) - 1) WHERE met[i]:Entity OR (met[i - 1]:Chunk AND met[i + 1]:Chunk) | CASE WHEN met[i]:Entity THEN met[i]
  ELSE head(COLLECT {
    WITH met[i - 1] AS c, met[i] AS s, met[i + 1] AS d
    MATCH (s)-[m:MENTIONS]->(n:Entity)
    WHERE c.id IN m.chunks AND d.id IN m.chunks AND (size($kinds) = 0 OR n.kind IN $kinds)
    RETURN n ORDER BY n.id
  }) END] AS found, choice
WHERE size(found) - 1 <= $hops AND none(n IN found WHERE n IS NULL)
WITH DISTINCT found, choice
WITH found, choice, reduce(facts = 0, n IN found | facts + COUNT { (n)-[:RELATES]-() }) AS facts
ORDER BY choice, size(found), facts, [n IN found | n.id] LIMIT 1
UNWIND range(1, size(found) - 1) AS step
WITH step, found[step - 1] AS a, found[step] AS b
CALL (a, b) {
  OPTIONAL MATCH (a)-[r:RELATES]-(b)
  WITH r, startNode(r) AS s, endNode(r) AS o
  WHERE $where IS NULL OR EXISTS {
    MATCH (s)-[:SUBJECT]->(f:Fact {predicate: r.predicate})<-[:OBJECT]-(o)
    MATCH (f)-[:SUPPORTS]->(n:Statement) WHERE (n.source_id IN $where.listed) = $where.admits
  }
  WITH DISTINCT s.name + ' ' + r.predicate + ' ' + o.name AS fact ORDER BY fact
  RETURN collect(fact) AS facts
}
CALL (a, b) {
  OPTIONAL MATCH (a)<-[:MENTIONS]-(s:Statement)-[:MENTIONS]->(b)
  WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  RETURN s.text AS statement ORDER BY COUNT { (s)<-[:SUPPORTS]-() } DESC, s.id LIMIT 1
}
CALL (a, b) {
  UNWIND [a, b] AS x
  MATCH (x)<-[m:MENTIONS]-(p:Statement)
  WHERE ($where IS NULL OR (p.source_id IN $where.listed) = $where.admits)
  UNWIND m.chunks AS chunk
  WITH chunk, count(DISTINCT x) AS ends WHERE ends = 2
  RETURN count(chunk) AS chunks
}
RETURN step AS step, a.name AS start, b.name AS end, facts AS facts, chunks AS chunks, statement AS statement
ORDER BY step
