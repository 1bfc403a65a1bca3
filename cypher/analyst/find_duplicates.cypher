// Statements that several sources make in the same words, those of the most sources first. Upper and lower case, double spaces
// and punctuation at the ends are ignored. Reads every statement of the corpus.
// params: corpus, where, kinds, k
// columns: text, sources, titles, statement_ids
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_duplicates
MATCH (s:Statement)
WHERE s.corpus = $corpus AND s.id >= '' AND ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
WITH s, btrim(toLower(replace(replace(s.text, '\n', ' '), '  ', ' ')), ' .!?,;:') AS words ORDER BY s.id
WITH words, collect(s) AS same, count(DISTINCT s.source_id) AS sources WHERE sources > 1
WITH words, same, sources ORDER BY sources DESC, words LIMIT $k
UNWIND same AS s
MATCH (d:Source {id: s.source_id})
WITH words, sources, head(same).text AS text, d.title AS title, s.id AS statement_id ORDER BY title, statement_id
RETURN text AS text, sources AS sources, collect(title) AS titles, collect(statement_id) AS statement_ids
ORDER BY sources DESC, text
