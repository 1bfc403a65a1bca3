-- Topics are embedded with their statements from now on. Of a corpus that is there already all topics with an id up to this
-- one are; NULL: all are. The next writer, or "migrate apply", renews the others and moves the mark.

ALTER TABLE corpus ADD COLUMN renewed_to TEXT;
UPDATE corpus SET renewed_to = '';
