// Restores the lists of imported chunks that import files cannot hold: empty lists, and lists of one empty text.
// params: -
// columns: -
MATCH (n:Chunk)
WHERE n.headings IS NULL OR n.headings = ['\uFDD1']
CALL (n) {
  SET n.headings = CASE WHEN n.headings IS NULL THEN [] ELSE [''] END
} IN TRANSACTIONS OF 20000 ROWS
