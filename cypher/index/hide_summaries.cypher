// Summaries that are part of their run no more: they are not visible from now on, and are deleted afterwards.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (s:Summary {id: id})
SET s:HiddenSummary
REMOVE s:Summary
