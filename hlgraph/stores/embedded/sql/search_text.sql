-- The best rows of one kind by BM25. {table} is the full text table of the kind, {inside} the filter on sources: names and
-- conditions from closed tables, put in by the caller. Parameters: :terms, :corpus, :kind, :hidden (a JSON array), :k.
SELECT v.id, -bm25({table}) AS score FROM {table} JOIN vector AS v ON v.n = {table}.rowid
JOIN vector_file AS f USING (file)
WHERE {table} MATCH :terms AND f.corpus = :corpus AND f.kind = :kind
AND v.change NOT IN (SELECT value FROM json_each(:hidden)) AND {inside}
ORDER BY score DESC, v.id LIMIT :k;
