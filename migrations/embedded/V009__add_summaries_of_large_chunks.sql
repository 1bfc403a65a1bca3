-- A source may have several summaries: of all of it (level -1), and of each of its large chunks (level -2).

DROP INDEX summary_source;
CREATE INDEX summary_source ON summary (source, r) WHERE source IS NOT NULL;
ALTER TABLE summary ADD COLUMN level INTEGER NOT NULL DEFAULT -1;
