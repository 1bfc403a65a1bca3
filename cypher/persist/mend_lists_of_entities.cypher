// Restores the lists of imported entities that import files cannot hold, see mend_lists_of_chunks.
// params: -
// columns: -
MATCH (n:Entity)
WHERE n.name_kinds IS NULL OR n.name_kinds = ['\uFDD1'] OR n.aliases = ['\uFDD1']
CALL (n) {
  SET n.aliases = CASE WHEN n.aliases = ['\uFDD1'] THEN [''] ELSE coalesce(n.aliases, []) END,
      n.name_surfaces = CASE WHEN n.name_surfaces = ['\uFDD1'] THEN [''] ELSE coalesce(n.name_surfaces, []) END,
      n.name_kinds = CASE WHEN n.name_kinds = ['\uFDD1'] THEN [''] ELSE coalesce(n.name_kinds, []) END,
      n.name_counts = coalesce(n.name_counts, [])
} IN TRANSACTIONS OF 20000 ROWS
