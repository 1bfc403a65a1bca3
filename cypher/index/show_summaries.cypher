// Makes summaries visible, because their run is complete.
// params: ids
// columns: -
UNWIND $ids AS id
MATCH (s:HiddenSummary {id: id})
SET s:Summary
REMOVE s:HiddenSummary
