-- The sets of vectors of a corpus, as JSON: the current one, the one beside it, and the models that it had. NULL: it has one set,
-- and never had another.

ALTER TABLE corpus ADD COLUMN vector_sets TEXT;
