-- The rows of some words of one matrix. Parameters: :file, :words (a JSON array).
SELECT p.word, p.first, p.entries FROM json_each(:words) AS w CROSS JOIN posting AS p ON p.file = :file AND p.word = w.value
ORDER BY w.key, p.first;

-- Which of some rows a search may see. {inside} is the filter on sources: names and conditions from closed tables, put in by
-- the caller. Parameters: :file, :rows and :hidden (JSON arrays), :corpus in {inside}.
SELECT v.n, v.id FROM json_each(:rows) AS w CROSS JOIN vector AS v ON v.n = w.value CROSS JOIN vector_origin AS o ON o.o = v.origin
WHERE v.file = :file AND o.change NOT IN (SELECT value FROM json_each(:hidden)) AND {inside};

-- All rows of one matrix that a search may see. Parameters: :file, :hidden, those in {inside}.
SELECT v.n FROM vector AS v CROSS JOIN vector_origin AS o ON o.o = v.origin
WHERE v.file = :file AND o.change NOT IN (SELECT value FROM json_each(:hidden)) AND {inside} ORDER BY v.n;
