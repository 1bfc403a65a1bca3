// Restores the lists of imported MENTIONS that import files cannot hold, see mend_lists_of_chunks.
// params: -
// columns: -
MATCH (:Statement)-[r:MENTIONS]->(:Entity)
WHERE r.kinds = ['\uFDD1'] OR r.surfaces = ['\uFDD1']
CALL (r) {
  SET r.kinds = CASE WHEN r.kinds = ['\uFDD1'] THEN [''] ELSE r.kinds END,
      r.surfaces = CASE WHEN r.surfaces = ['\uFDD1'] THEN [''] ELSE r.surfaces END
} IN TRANSACTIONS OF 20000 ROWS
