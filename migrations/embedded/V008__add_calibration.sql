-- The scale of the cosines of a corpus, as JSON; NULL: not measured yet.

ALTER TABLE corpus ADD COLUMN calibration TEXT;
