// How many statements that may be seen mention each number of some names, highest number first, and their ids, where there are
// at most $most of them. A name is a list of ids of entities; a statement that mentions several of one list mentions one name.
// Only as many numbers as it takes to give $k statements. $lists.among: ids of the statements to count for; null: all. The version of
// the corpus is read afterwards.
// params: lists, corpus, k, most, has_scope, admits
// columns: version, classes
CALL () {
  UNWIND range(0, size($lists.names) - 1) AS name
  UNWIND $lists.names[name] AS id
  MATCH (e:Entity {id: id})
  WHERE e.corpus = $corpus
  MATCH (e)<-[:MENTIONS]-(s:Statement)
  WHERE ($lists.among IS NULL OR s.id IN $lists.among) AND (NOT $has_scope OR (s.source_id IN $lists.listed) = $admits)
  WITH s, count(DISTINCT name) AS matched
  WITH matched, count(s) AS number, collect(s.id)[..$most] AS ids ORDER BY matched DESC
  RETURN collect({matched: matched, number: number, ids: CASE WHEN number <= $most THEN ids ELSE [] END}) AS every
}
WITH [at IN range(0, size(every) - 1)
  WHERE reduce(before = 0, class IN every[..at] | before + class.number) < $k | every[at]] AS classes, $corpus AS corpus
MATCH (c:Corpus {name: corpus})
RETURN c.version AS version, classes
