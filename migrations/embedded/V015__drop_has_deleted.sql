-- A deletion is patched like any other change, so no reader asks whether a change was one.

ALTER TABLE image_change DROP COLUMN has_deleted;
