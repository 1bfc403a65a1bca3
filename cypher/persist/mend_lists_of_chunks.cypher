// Gives chunks that were imported from files the lists that such files cannot hold: empty ones, and those of one empty text.
// params: -
// columns: -
MATCH (n:Chunk)
WHERE n.headings IS NULL OR n.headings = ['\uFDD1']
CALL (n) {
  SET n.headings = CASE WHEN n.headings IS NULL THEN [] ELSE [''] END
} IN TRANSACTIONS OF 20000 ROWS
