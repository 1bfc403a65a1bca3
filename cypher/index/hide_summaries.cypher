// Hides summaries that no longer belong to their run; they are deleted afterwards.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (s:Summary {id: id})
SET s:HiddenSummary
REMOVE s:Summary
