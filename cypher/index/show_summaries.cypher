// Summaries whose run is complete: they are visible from now on.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (s:HiddenSummary {id: id})
SET s:Summary
REMOVE s:HiddenSummary
