// The nodes of the database by their labels, without what an empty graph and the domain of a corpus consist of; counting ends
// at 100,000 nodes.
// params: corpus
// columns: label, number
MATCH (n)
WHERE NOT n:Migration AND NOT n:Lease AND NOT (n:Domain AND n.corpus = $corpus)
WITH n LIMIT 100000
UNWIND CASE WHEN size(labels(n)) = 0 THEN ['(no label)'] ELSE labels(n) END AS name
RETURN name AS label, count(*) AS number ORDER BY label
