-- The best rows of one kind of one corpus by BM25. {table} is their full text table, {inside} the filter on sources: names and
-- conditions from closed tables, put in by the caller. Parameters: :terms, :hidden (a JSON array), :k, :corpus in {inside}.
SELECT v.id, -bm25({table}) AS score FROM {table} JOIN vector AS v ON v.n = {table}.rowid
WHERE {table} MATCH :terms AND v.change NOT IN (SELECT value FROM json_each(:hidden)) AND {inside}
ORDER BY score DESC, v.id LIMIT :k;
