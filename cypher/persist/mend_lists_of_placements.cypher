// Restores the lists of imported IN_CHUNK that import files cannot hold, see mend_lists_of_chunks.
// params: -
// columns: -
MATCH (:Statement)-[r:IN_CHUNK]->(:Chunk)
WHERE r.details IS NULL OR r.details = ['\uFDD1']
CALL (r) {
  SET r.details = CASE WHEN r.details IS NULL THEN [] ELSE [''] END
} IN TRANSACTIONS OF 20000 ROWS
