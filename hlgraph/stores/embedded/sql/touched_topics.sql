-- The statements of those topics that the chunks of a published change name, or named; only inside its transaction, when its
-- temporary tables are still filled. A topic without statements has one row with NULL. Parameter: :ids (a JSON array).
SELECT t.id, s.id FROM json_each(:ids) AS e CROSS JOIN node AS t ON t.key = hlgraph_key(e.value)
LEFT JOIN about AS l ON l.topic = t.n LEFT JOIN node AS s ON s.n = l.statement
WHERE t.n IN (SELECT n FROM t_dirty) OR t.n IN (SELECT topic FROM chunk_topic WHERE chunk IN (SELECT n FROM t_new))
GROUP BY t.id, s.id ORDER BY t.id, s.id;
